# C types of circuit.py, for Cython.
cimport cython
from headgate.window cimport Window

cdef long long CLOSED
cdef long long OPEN
cdef long long HALF
cdef long long SHUT
cdef long long FREE
cdef long long WATCH
cdef long long GOOD
cdef long long TURNED_AWAY
cdef long long NOTHING
cdef long long WHOLE
cdef long long FOREVER


@cython.final
cdef class Settings:
    cdef readonly long long failed
    cdef readonly long long slow
    cdef readonly long long slow_after
    cdef readonly long long calls
    cdef readonly long long span
    cdef readonly long long buckets
    cdef readonly bint counted
    cdef readonly long long pause
    cdef readonly long long longest
    cdef readonly double growth
    cdef readonly double jitter
    cdef readonly long long probes


@cython.final
cdef class Circuit:
    cdef readonly Settings settings
    cdef readonly Window window
    cdef readonly object key
    cdef readonly object story
    cdef object luck
    cdef object lock
    cdef readonly long long count
    cdef readonly long long ticket
    cdef readonly long long opened
    cdef readonly long long state
    cdef readonly long long since
    cdef readonly long long pause
    cdef long long out
    cdef long long probed
    cdef long long passed
    cdef long long broken
    cdef long long slowed
    @cython.locals(ticket="long long")
    cpdef long long enter(self, long long now) noexcept
    cpdef void leave(self, long long ticket, long long outcome, long long now, long long took) noexcept
    cpdef void force(self, long long state) noexcept
    cpdef long long wait(self, long long now) noexcept
    cdef long long admit(self, long long now) noexcept
    cdef long long probe(self, long long now) noexcept
    @cython.locals(slow="long long")
    cdef void record(self, long long ticket, long long outcome, long long now, long long took) noexcept
    @cython.locals(calls="long long")
    cdef long long tripped(self) noexcept
    @cython.locals(probes="long long")
    cdef void judge(self, long long outcome, long long slow, long long now) noexcept
    @cython.locals(settings=Settings, pause="double", turns="long long")
    cdef void trip(self, long long now) noexcept
    @cython.locals(before="long long")
    cdef void turn(self, long long state) noexcept
    cdef long long moment(self, long long now) noexcept
