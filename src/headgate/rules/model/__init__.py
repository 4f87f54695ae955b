"""Rules as frozen values: each field told once."""
