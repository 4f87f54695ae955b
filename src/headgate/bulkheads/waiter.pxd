# C types of waiter.py, for Cython.
cimport cython


@cython.final
cdef class Waiter:
    cdef readonly object bell
    cdef readonly long long part
    cdef readonly long long moment
    cdef readonly long long rank
    cdef readonly long long inside
    cdef readonly long long left
