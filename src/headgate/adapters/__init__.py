"""Adapters: what rules decide, spoken in the tongue of each framework."""
