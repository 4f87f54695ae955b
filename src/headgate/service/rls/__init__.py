"""Envoy's rate limit service and its quota service: what they ask, decided by limits of ours."""
