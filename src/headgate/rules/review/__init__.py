"""What is odd in rules that are not wrong."""
