"""Permits in a file in memory, for all processes of a machine: who holds how many of what."""
