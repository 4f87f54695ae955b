# C types of holding.py, for Cython.
cimport cython


@cython.final
cdef class Holding:
    cdef readonly long long units
    cdef readonly long long until
    cdef readonly long long moment
    cdef readonly long long taken
    cdef public long long closed
    cdef public long long asked
    cdef public long long least
    cdef public long long batch
    cdef public long long fetching
    cdef public long long limit
    cdef public long long rest
    cdef public long long reset
    cdef public object rule
    cdef object lock
    @cython.locals(left="long long")
    cpdef long long pay(self, long long cost, long long now) noexcept
    cpdef void put(self, long long units, long long until, long long moment) noexcept
    @cython.locals(alive="long long")
    cpdef long long restore(self, long long cost, long long now, long long moment) noexcept
    @cython.locals(units="long long")
    cpdef long long end(self, long long now) noexcept
    cdef long long spend(self, long long cost, long long now) noexcept
    cdef void add(self, long long units, long long until, long long moment) noexcept
    cdef long long mend(self, long long cost, long long now, long long moment) noexcept
    @cython.locals(units="long long")
    cdef long long drain(self, long long now) noexcept
