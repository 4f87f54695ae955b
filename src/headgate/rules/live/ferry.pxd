# C types of ferry.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.rules.live.entry cimport Entry
from headgate.stores.fallback cimport Fallback
from headgate.rules.live.turnstile cimport Turnstile


@cython.final
cdef class Passage:
    cdef Turnstile _gate
    cdef object _lane
    cdef object _key
    cdef object _exchange
    cdef object _arrive
    cdef long long _since
    cdef readonly bint over
    @cython.locals(gate=Turnstile, fresh=Entry)
    cpdef end(self, found)
    cpdef cancel(self)


@cython.final
cdef class Ferry:
    cdef Turnstile _turnstile
    cdef readonly bint near
    @cython.locals(past=Turnstile, passage=Passage, ledger=Fallback)
    cpdef Passage send(self, key, exchange, arrive)
