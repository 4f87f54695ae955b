"""Replay: what rules would have done to the requests of a log, and which limits it needs."""
