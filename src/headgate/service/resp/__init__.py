"""What every Redis client can ask, in the protocol of Redis."""
