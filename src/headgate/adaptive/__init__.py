"""Limits that find themselves: a sample in, a number out. They know no clock and no requests."""
