# C types of seal.py, for Cython.
cimport cython
from libc.stdint cimport int64_t, uint64_t

cdef uint64_t gather(const unsigned char* text, Py_ssize_t place, Py_ssize_t count) noexcept nogil
cdef (uint64_t, uint64_t, uint64_t, uint64_t) mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d) noexcept nogil


@cython.final
cdef class Seal:
    cdef bytes seed
    cdef uint64_t a
    cdef uint64_t b
    cdef uint64_t c
    cdef uint64_t d
    @cython.locals(size=Py_ssize_t, text="const unsigned char*", spare=bytes, mark=int64_t)
    cpdef int64_t mark(self, key) except? -1
    @cython.locals(a=uint64_t, b=uint64_t, c=uint64_t, d=uint64_t, word=uint64_t, place=Py_ssize_t)
    cdef int64_t digest(self, const unsigned char* text, Py_ssize_t size) noexcept nogil
