# Rendered from fixed_window.py by tools/twins.py; edit that file, not this one.
from headgate.algorithms.limit cimport Limit, Reply

cdef long long SLACK

cdef (long long, long long, long long) roll(long long now, long long limit, long long length, long long unit, long long first, long long begin, long long window, long long count) noexcept nogil
cdef (long long, long long, long long, long long, long long) step(long long now, long long enter, long long cost, long long patience, long long limit, long long length, long long unit, long long first, long long begin, long long window, long long count) noexcept nogil
cdef (long long, long long) charge(long long now, long long cost, long long due, long long limit, long long length, long long unit, long long first, long long begin, long long deepest, long long window, long long count) noexcept nogil

cdef class FixedWindow(Limit):
    cdef readonly object anchor
    cdef readonly object calendar
    cdef readonly object zone
    cdef readonly long long length
    cdef readonly long long unit
    cdef readonly long long first
    cdef readonly long long begin
    cdef readonly long long end
    cdef readonly long long deepest
    cdef void follow(self, long long now) noexcept
    cdef long long date(self, long long now, long long span, long long patience) noexcept
    cdef long long undate(self, long long now, long long moment) noexcept
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
