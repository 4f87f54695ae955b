"""Rules at work: what a gatekeeper keeps, counts and answers."""
