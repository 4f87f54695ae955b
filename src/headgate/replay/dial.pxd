# C types of dial.py, for Cython.
cimport cython


@cython.final
cdef class Dial:
    cdef object __weakref__
    cdef public long long moment
    cpdef long long now(self)
