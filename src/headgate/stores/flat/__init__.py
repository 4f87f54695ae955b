"""The flat table: rows of integers, in a process's own memory or in a file that many map."""
