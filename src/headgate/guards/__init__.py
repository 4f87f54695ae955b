"""All of it around one function, and what to do when the answer is no."""
