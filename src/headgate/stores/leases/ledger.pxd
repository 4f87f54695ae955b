# C types of ledger.py, for Cython.
cimport cython
from headgate.decision cimport Decision


@cython.final
cdef class Holding:
    cdef public long long units
    cdef public long long until
    cdef public long long moment
    cdef public long long taken
    cdef public long long closed
    cdef public long long asked
    cdef public long long least
    cdef public long long batch
    cdef public long long fetching
    cdef public long long limit
    cdef public long long rest
    cdef public long long reset
    cdef public object rule


@cython.final
cdef class Leased:
    cdef object __weakref__
    cdef readonly object ledger
    cdef readonly object clock
    cdef readonly long long ttl
    cdef readonly long long most
    cdef readonly bint awaited
    cdef public dict held
    cdef public object lock
    cdef public bint tended
    cdef long long _least
    cdef long long _fits
    @cython.locals(decision=Decision)
    cpdef take(self, key, long long cost, long long now, long long patience)
    @cython.locals(held=Holding, decision=Decision, left="long long", wait="long long")
    cpdef Decision spend(self, key, long long cost, long long now)
