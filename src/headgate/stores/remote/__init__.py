"""State kept by a Headgate service, which is asked as a Redis is."""
