# C types of limiter.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.clock cimport SystemClock
from headgate.decision cimport Decision
from headgate.stores.flat.table cimport Table
from headgate.stores.leases.ledger cimport Leased
from headgate.stores.shared.cabinet cimport Cabinet



@cython.final
cdef class Limiter:
    cdef object __weakref__
    cdef readonly object store
    cdef readonly object name
    cdef readonly object clock
    cdef readonly object ledger
    cdef readonly Table table
    cdef Cabinet cabinet
    cdef Leased leased
    cdef SystemClock system
    cdef readonly tuple listeners
    cdef int64_t time(self) except? -1
    @cython.locals(units=cython.longlong, decision=Decision)
    cdef Decision ask(self, key, cost, long long patience, long long now)
    cdef object charge(self, key, cost, long long sign, long long due)
