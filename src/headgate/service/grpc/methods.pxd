# C types of methods.py, for Cython.
cimport cython


@cython.final
cdef class Method:
    cdef public object path
    cdef public object answer
    cdef public object open
    cdef public bint spare
