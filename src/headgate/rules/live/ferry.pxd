# C types of ferry.py, for Cython.
cimport cython
from headgate.rules.live.turnstile cimport Turnstile


@cython.final
cdef class Ferry:
    cdef Turnstile _turnstile
    cdef readonly bint near
