# C types of hatch.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.limiter cimport Limiter
from headgate.rules.live.entry cimport Entry, Pass
from headgate.rules.live.tally cimport Tally
from headgate.rules.live.turnstile cimport Turnstile
from headgate.service.rls.scribe cimport answer, status


@cython.final
cdef class Hatch:
    cdef readonly object leaf
    cdef Limiter limiter
    cdef readonly object key
    cdef readonly object cost
    cdef bytes only
    cdef Tally tally
    @cython.locals(decision=Decision, limiter=Limiter, limit=bytes, verdict="long long", now="long long")
    cpdef bytes answer(self)


@cython.final
cdef class Wicket:
    cdef object lodge
    cdef Turnstile gate
    cdef readonly object key
    cdef object request
    cdef object limits
    cdef bytes limit
    @cython.locals(entry=Entry, one=Pass, limit=bytes)
    cpdef bytes answer(self)


@cython.locals(code=cython.longlong, wait=cython.longlong)
cdef bytes told(Decision decision, bytes limit, limits, limiter)
