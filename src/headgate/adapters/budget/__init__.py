"""Budgets over HTTP: middleware that opens purses, and clients that pay from them."""
