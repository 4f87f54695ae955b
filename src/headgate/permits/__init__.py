"""Permits: places that several processes share."""
