# C types of lines.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.replay.hits cimport Hit
from headgate.replay.scan cimport Scanner
cdef long long SHOWN
cdef long long LONGEST
cdef long long ENDLESS


@cython.final
cdef class Lines:
    cdef object reader
    cdef Scanner scanner
    cdef readonly list examples
    cdef readonly long long number
    cdef readonly long long broken
    cdef readonly long long asides
    cdef public long long newest
    cdef public bint disordered
    cdef bytes tail
    cdef bint skipping
    @cython.locals(at="long long")
    cpdef list feed(self, bytes data)
    cpdef list close(self)
    @cython.locals(at="long long", size="long long", end="long long")
    cdef int64_t gather(self, bytes data, list hits) except -1
    cdef keep(self, bytes rest)
    @cython.locals(hit=Hit)
    cdef take(self, bytes data, long long at, long long end, list hits)
    cdef blame(self, bytes line)


cdef int64_t until(bytes data, long long at, long long size) except? -2
