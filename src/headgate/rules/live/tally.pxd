# C types of tally.py, for Cython.
cimport cython


@cython.final
cdef class Tally:
    cdef public long long passed
    cdef public long long refused
    cdef public long long shadowed
