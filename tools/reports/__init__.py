"""Pages made of measurements: what each says, and how it is drawn."""
