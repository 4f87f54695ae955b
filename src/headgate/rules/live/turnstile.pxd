# C types of turnstile.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.limiter cimport Limiter
from headgate.rules.live.entry cimport Entry, Pass, Refusal
from headgate.rules.live.tally cimport Tally
cdef long long UNKNOWN
cdef long long LET_IN
cdef long long TURNED


@cython.final
cdef class Turnstile:
    cdef readonly object ruling
    cdef readonly object version
    cdef object plan
    cdef readonly object key
    cdef object keyless
    cdef Tally tally
    cdef readonly object lane
    cdef Limiter limiter
    cdef readonly object cost
    cdef readonly bint near
    cpdef Entry enter(self, request)
    @cython.locals(entry=Entry, limiter=Limiter, now="long long")
    cpdef Entry weigh(self, key, request)
    cpdef lead(self, Entry entry, key, request)
    @cython.locals(one=Pass)
    cpdef Entry judge(self, Entry entry, lane, key, cost, Decision decision, long long now)
    cdef turn(self, Entry entry)


cpdef Refusal refusal(ruling, Decision decision)
