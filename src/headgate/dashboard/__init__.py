"""The live page: its files, what it has seen of the last minutes, and a simulation to play with."""
