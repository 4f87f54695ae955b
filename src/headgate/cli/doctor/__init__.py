"""`headgate doctor`: what is looked at, and how it is said."""
