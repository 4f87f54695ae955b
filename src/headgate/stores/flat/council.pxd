# C types of council.py, for Cython.
cimport cython
from headgate.algorithms.limit cimport Limit, Reply
from headgate.stores.flat.rows cimport Rows

cdef long long FOREVER


@cython.final
cdef class Council:
    cdef Rows rows
    cdef Reply answers[8]
    cdef long long settle(self, long long row, long long now, long long cost, long long patience) noexcept
    @cython.locals(limit=Limit, rows=Rows)
    cdef long long consult(self, long long row, long long now, long long enter, long long cost, long long patience) noexcept
    cdef long long tightest(self, long long patience, long long why) noexcept
    @cython.locals(limit=Limit, rows=Rows)
    cdef void keep(self, long long row, long long now, long long cost) noexcept
    @cython.locals(limit=Limit, rows=Rows)
    cdef void blame(self, long long row, long long now, long long patience) noexcept
