# Rendered from sliding_log.py by tools/twins.py; edit that file, not this one.
cimport cython
from headgate.algorithms.limit cimport Limit, Reply

cdef long long SLACK
cdef long long FAR

cdef long long count(long long time, long long head, long long limit, long long* cells, long long row) noexcept nogil
cdef Reply step(long long now, long long enter, long long cost, long long patience, long long limit, long long length, long long* cells, long long row) noexcept nogil
@cython.locals(slot=cython.longlong)
cdef void rebase(long long now, long long limit, long long* cells, long long row) noexcept nogil
cdef void charge(long long now, long long cost, long long due, long long limit, long long length, long long* cells, long long row) noexcept nogil
cdef void settle(long long now, long long cost, long long limit, long long here, long long leaves, long long* cells, long long row) noexcept nogil

cdef class SlidingLog(Limit):
    cdef readonly long long length
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void keep(self, long long* cells, long long row, long long now, long long cost, long long a, long long b, long long c) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
