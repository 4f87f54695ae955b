"""Several processes that are one gateway: a master, its workers, and who asks how they are."""
