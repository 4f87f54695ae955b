"""How many at once: places, who waits for them, and threads of their own."""
