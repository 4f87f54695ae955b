"""Several processes that are one gateway or one service: a master, its workers, and an admin."""
