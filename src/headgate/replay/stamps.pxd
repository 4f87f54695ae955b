# C types of stamps.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
cdef long long NEVER
cdef long long MILLION
cdef long long DIGITS
cdef long long ZERO
cdef dict MONTHS


@cython.final
cdef class Stamps:
    cdef bytes text
    cdef long long moment
    cpdef int64_t read(self, bytes text) except? -1


cpdef int64_t moment(bytes text) except? -1
@cython.locals(month="long long", day="long long", year="long long")
cdef int64_t common(bytes text, long long size) except? -1
cdef int64_t standard(bytes text, long long size) except? -1
@cython.locals(hour="long long", minute="long long", second="long long", micros="long long", begin="long long", offset="long long", seconds="long long")
cdef long long placed(const unsigned char* text, long long size, long long at, long long year, long long month, long long day) noexcept
@cython.locals(sign="long long", colon="long long", hours="long long", minutes="long long", ahead="long long")
cdef long long zone(const unsigned char* text, long long at, long long size) noexcept
@cython.locals(at="long long", whole="long long", begin="long long")
cdef long long counted(const unsigned char* text, long long size) noexcept
@cython.locals(found="long long", digit="long long")
cdef long long number(const unsigned char* text, long long begin, long long end) noexcept
@cython.locals(found="long long", read="long long")
cdef long long fraction(const unsigned char* text, long long begin, long long end) noexcept
@cython.locals(era="long long", of_era="long long", of_year="long long")
cdef long long days(long long year, long long month, long long day) noexcept
cpdef int64_t millionths(bytes text) except? -1
