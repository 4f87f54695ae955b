"""What there is to see of rules at work, for people and for machines; nothing here decides."""
