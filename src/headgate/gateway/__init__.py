"""Gateway: the rules in front of any HTTP service, as a reverse proxy."""
