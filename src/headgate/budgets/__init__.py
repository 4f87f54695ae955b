"""Budgets: a request's allowance, which travels with it and is spent service by service."""
