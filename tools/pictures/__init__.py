"""The pictures of the documentation: what they show, and how they are drawn."""
