"""`headgate explain`: the request that is described, and what is said of it."""
