# C types of holding.py, for Cython.
cimport cython
from headgate.decision cimport Decision


@cython.final
cdef class Holding:
    cdef readonly long long units
    cdef readonly long long until
    cdef readonly long long moment
    cdef readonly long long taken
    cdef public long long closed
    cdef readonly long long asked
    cdef readonly long long least
    cdef public long long batch
    cdef public long long fetching
    cdef readonly long long limit
    cdef readonly long long rest
    cdef readonly long long reset
    cdef object source
    cdef object owner
    @cython.locals(known="long long")
    cpdef long long decide(self, Decision decision, long long cost, long long now, long long most) noexcept
    @cython.locals(left="long long")
    cpdef long long pay(self, long long cost, long long now) noexcept
    cpdef void grant(self, Decision said, long long units, long long until, long long moment) noexcept
    cpdef void refuse(self, Decision said, long long now, long long asked, long long least) noexcept
    @cython.locals(alive="long long")
    cpdef long long restore(self, long long cost, long long now, long long moment) noexcept
    @cython.locals(units="long long")
    cpdef long long end(self, long long now) noexcept
    @cython.locals(left="long long", wait="long long")
    cdef long long judge(self, Decision decision, long long cost, long long now, long long most) noexcept
    cdef long long spend(self, long long cost, long long now) noexcept
    cdef void note(self, Decision said) noexcept
    cdef void add(self, long long units, long long until, long long moment) noexcept
    cdef void close(self, Decision said, long long now, long long asked, long long least) noexcept
    cdef long long mend(self, long long cost, long long now, long long moment) noexcept
    @cython.locals(units="long long")
    cdef long long drain(self, long long now) noexcept
