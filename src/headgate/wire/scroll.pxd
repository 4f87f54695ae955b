# C types of scroll.py, for Cython.
cimport cython


@cython.final
cdef class Scroll:
    cdef bytearray page
    cdef list parts
    cdef readonly Py_ssize_t size
    cpdef add(self, bytes part)
    cpdef line(self, bytes name, bytes value)
    cpdef bytes take(self)
