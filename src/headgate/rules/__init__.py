"""Rules: which limits a request meets, and what happens to it when the answer is no."""
