# Rendered from sliding_window.py by tools/twins.py; edit that file, not this one.
from headgate.algorithms.limit cimport Limit, Reply

cdef long long SLACK

cdef (long long, long long) rebase(long long now, long long part, long long parts, long long stamp, long long last) noexcept nogil
cdef (long long, long long) slide(long long head, long long index, long long parts, long long total, long long* cells, long long row) noexcept nogil
cdef (long long, long long, long long) find(long long time, long long cost, long long limit, long long part, long long grain, long long parts, long long weigh, long long total, long long oldest, long long* cells, long long row) noexcept nogil
cdef Reply step(long long now, long long enter, long long cost, long long patience, long long limit, long long part, long long grain, long long parts, long long weigh, long long* cells, long long row) noexcept nogil
cdef void settle(long long now, long long cost, long long part, long long parts, long long here, long long entry, long long* cells, long long row) noexcept nogil
cdef void charge(long long now, long long cost, long long due, long long part, long long parts, long long deepest, long long* cells, long long row) noexcept nogil

cdef class SlidingWindow(Limit):
    cdef readonly long long parts
    cdef readonly object oldest
    cdef readonly long long part
    cdef readonly long long grain
    cdef readonly long long weigh
    cdef readonly long long deepest
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void keep(self, long long* cells, long long row, long long now, long long cost, long long a, long long b, long long c) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
