"""Bench: what a decision costs on this machine, beside what nobody can save."""
