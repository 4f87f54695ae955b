# C types of store.py, for Cython: none of its own.
