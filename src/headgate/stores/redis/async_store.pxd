# C types of async_store.py, for Cython: none of its own.
