# Rendered from token_bucket.py by tools/twins.py; edit that file, not this one.
from headgate.algorithms.limit cimport Limit, Reply

cdef long long SLACK
cdef long long FAR

cdef (long long, long long) fresh(long long now, long long initial, long long scale) noexcept nogil
cdef (long long, long long, long long, long long, long long) step(long long now, long long enter, long long cost, long long patience, long long tick, long long gain, long long scale, long long capacity, long long span, long long borrow, long long level, long long stamp) noexcept nogil
cdef (long long, long long) charge(long long now, long long cost, long long due, long long tick, long long gain, long long scale, long long capacity, long long span, long long borrow, long long level, long long stamp) noexcept nogil

cdef class TokenBucket(Limit):
    cdef readonly long long burst
    cdef readonly long long initial
    cdef readonly object refill
    cdef readonly long long tick
    cdef readonly long long gain
    cdef readonly long long scale
    cdef readonly long long capacity
    cdef readonly long long span
    cdef readonly long long borrow
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
    cdef void open(self, long long* cells, long long row, long long now) noexcept nogil
    cdef double left(self, long long* cells, long long row, long long now) noexcept
    cdef void fill(self, long long* cells, long long row, long long now, double units) noexcept
