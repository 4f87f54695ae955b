"""Top: what a gateway or a service does at the moment, live in the terminal."""
