"""Places that are lent for a time, and where it is written down who has them."""
