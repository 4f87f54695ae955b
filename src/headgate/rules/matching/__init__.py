"""What a request is, and which rules it meets."""
