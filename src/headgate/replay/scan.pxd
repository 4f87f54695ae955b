# C types of scan.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.replay.hits cimport Hit, Spots
from headgate.replay.stamps cimport Stamps, millionths
cdef long long UNKNOWN
cdef long long SKIP
cdef long long TIME
cdef long long REQUEST
cdef long long METHOD
cdef long long TARGET
cdef long long QUERY
cdef long long HOST
cdef long long SCHEME
cdef long long PEER
cdef long long FORWARDED
cdef long long STATUS
cdef long long SIZE
cdef long long TOOK
cdef long long USER
cdef long long HEADER
cdef long long QUOTE
cdef long long ESCAPE
cdef bytes NOTHING


@cython.final
cdef class Scanner:
    cdef long long kinds[64]
    cdef long long units[64]
    cdef long long starts[65]
    cdef long long lengths[65]
    cdef long long count
    cdef bint ends
    cdef bytes marks
    cdef list names
    cdef bytes method
    cdef bytes target
    cdef bytes query
    cdef dict known
    cdef Stamps stamps
    cdef Spots spots
    @cython.locals(hit=Hit, number="long long", stop="long long")
    cpdef Hit read(self, bytes data, long long at, long long end)
    cdef void empty(self, Hit hit)
    @cython.locals(length="long long", start="long long")
    cdef int64_t stop(self, bytes data, long long at, long long end, long long number) except? -2
    @cython.locals(kind="long long")
    cdef bint put(self, Hit hit, long long number, bytes text) except -1
    cdef place(self, Hit hit, long long kind, long long number, bytes text)
    cdef head(self, Hit hit, name, value)
    cdef Hit finish(self, Hit hit)
    cdef object name(self, bytes text)


@cython.locals(same="long long")
cdef bint fits(const unsigned char* data, long long at, long long end, const unsigned char* marks, long long start, long long length) noexcept
@cython.locals(first="unsigned char", quoted=bint)
cdef int64_t seek(const unsigned char* data, long long at, long long end, const unsigned char* marks, long long start, long long length) except? -2
@cython.locals(size="long long", found="long long", at="long long", digit="long long")
cdef int64_t whole(bytes text) except? -2
@cython.locals(number=bytes, rest=bytes, found="long long", part="long long")
cdef int64_t length(bytes text, long long unit) except? -2
