# C types of head.py, for Cython.
cimport cython


@cython.final
cdef class Head:
    cdef public list lines
    cdef public bint bare
    cdef public bint sound
    cdef public bytes path
    cdef public long long length
    cdef public long coding
    cdef public long long timeout
    cdef public bytes refusal
    cdef public bytes token
    cdef public long long weight
