"""State in a file in memory, for all processes of a machine: who may open it, what is in it."""
