"""Upstreams: the servers behind the gateway, which of them are well, and whose turn it is."""
