"""Allowances taken from a distant store and spent here, and what is unspent taken back in time."""
