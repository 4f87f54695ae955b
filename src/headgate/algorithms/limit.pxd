# The contract between a limit and the store that keeps its cells, for Cython.
ctypedef (long long, long long, long long, long long, long long, long long) Reply



cdef class Limit:
    cdef readonly object rate
    cdef readonly object name
    cdef readonly object options
    cdef readonly object spelling
    cdef readonly long long limit
    cdef readonly long long most
    cdef readonly long long heaviest
    cdef readonly long long width
    cdef readonly long long ring
    cdef readonly long long penalty
    cdef readonly long long lasting
    cdef readonly long long horizon
    cdef readonly long long worst
    cdef Reply look(self, long long* cells, long long row, long long now, long long enter, long long cost, long long patience) noexcept nogil
    cdef void keep(self, long long* cells, long long row, long long now, long long cost, long long a, long long b, long long c) noexcept nogil
    cdef void charge(self, long long* cells, long long row, long long now, long long cost, long long due) noexcept nogil
    cdef void open(self, long long* cells, long long row, long long now) noexcept nogil
    cdef double left(self, long long* cells, long long row, long long now) noexcept
    cdef void fill(self, long long* cells, long long row, long long now, double units) noexcept
    cdef void follow(self, long long now) noexcept
    cdef long long date(self, long long now, long long span, long long patience) noexcept
    cdef long long undate(self, long long now, long long moment) noexcept


cpdef tuple meter(Limit limit, kind, rate, burst, penalty, name)
cpdef void counter(Limit limit, kind, rate, penalty, name) except *
cpdef void describe(Limit limit, options, usual) except *
