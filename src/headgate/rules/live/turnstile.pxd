# C types of turnstile.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.limiter cimport Limiter
from headgate.rules.live.entry cimport Entry, Pass, Refusal
cdef long long UNKNOWN


@cython.final
cdef class Turnstile:
    cdef object ruling
    cdef object version
    cdef object plan
    cdef object key
    cdef object keyless
    cdef object tally
    cdef object lane
    cdef Limiter limiter
    cdef object cost
    cdef readonly bint near
    @cython.locals(entry=Entry, limiter=Limiter, decision=Decision)
    cpdef Entry weigh(self, key, request)
    cpdef Entry enter(self, request)
    cdef Entry turn(self, Entry entry)


cpdef Refusal refusal(ruling, Decision decision)
