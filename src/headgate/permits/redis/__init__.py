"""Permits on Redis and Valkey."""
