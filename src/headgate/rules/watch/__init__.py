"""Where rules come from while they are in force."""
