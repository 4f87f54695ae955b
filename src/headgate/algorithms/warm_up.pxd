# Rendered from warm_up.py by tools/twins.py; edit that file, not this one.
from headgate.algorithms.limit cimport Limit, Reply

cdef long long SLACK
cdef long long DEEPEST

cdef (long long, long long, long long) fresh(long long now, long long cold) noexcept nogil
cdef (long long, long long, long long, long long) pay(long long now, long long enter, long long gain, long long cold, long long span, long long stored, long long owed, long long stamp) noexcept nogil
cdef long long price(long long stored, long long rest, long long warm, long long cold, long long grain) noexcept nogil
cdef Reply step(long long now, long long enter, long long cost, long long patience, long long gain, long long scale, long long cold, long long warm, long long grain, long long span, long long stored, long long owed, long long stamp) noexcept nogil
cdef (long long, long long, long long) charge(long long now, long long cost, long long due, long long gain, long long scale, long long cold, long long span, long long stored, long long owed, long long stamp) noexcept nogil

cdef class WarmUp(Limit):
    cdef readonly object period
    cdef readonly long long gain
    cdef readonly long long scale
    cdef readonly long long cold
    cdef readonly long long warm
    cdef readonly long long grain
    cdef readonly long long span
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
    cdef void open(self, long long* cells, long long row, long long now) noexcept nogil
    cdef double left(self, long long* cells, long long row, long long now) noexcept
    cdef void fill(self, long long* cells, long long row, long long now, double units) noexcept
