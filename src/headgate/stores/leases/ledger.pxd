# C types of ledger.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.stores.leases.holding cimport Holding


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
    @cython.locals(left="long long")
    cdef Decision _paid(self, Holding held, Decision said, long long cost, long long now)
