"""Stores: where the truth is kept. They know cells and atomicity, and no arithmetic."""
