"""Documents: what a file of rules says, and where it says it."""
