# C types of top.py, for Cython.
cimport cython


@cython.final
cdef class Top:
    cdef dict _cells
    cdef list _heap
    cdef Py_ssize_t _size
    cdef public long long total
    @cython.locals(cell=list)
    cpdef note(self, str key, long refused)
    cdef list _enter(self, str key)


@cython.final
cdef class Pair:
    cdef public Top before
    cdef public Top now


@cython.final
cdef class Tops:
    cdef dict _pairs
    cdef long long _since
    cdef long long _until
    @cython.locals(pair=Pair)
    cpdef note(self, str rule, str key, long refused, long long now)
