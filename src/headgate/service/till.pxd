# C types of till.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.limiter cimport Limiter
from headgate.rules.live.entry cimport Entry
from headgate.rules.live.tally cimport Tally


@cython.final
cdef class Till:
    cdef readonly object ruling
    cdef readonly object lodge
    cdef readonly object version
    cdef Tally tally
    cdef readonly bint limited
    cdef readonly object fixed
    cdef readonly bint banned
    cdef readonly bint together
    cdef readonly object keyless
    cdef readonly bint enforced
    cdef Limiter limiter
    cdef dict known
    @cython.locals(limiter=Limiter, decision=Decision, now="long long")
    cpdef take(self, key, cost, plan)
    cpdef peek(self, key, cost, plan)
    cpdef charge(self, key, cost, plan, long long sign)
    cpdef reset(self, key, plan)
    cpdef name(self, key)
    cpdef units(self, cost)
    cpdef find(self, key, plan)
    cpdef bar(self, key)
    cpdef Decision settle(self, Decision decision, key, cost, plan)
    cpdef bint count(self, Decision decision, key, cost) except -1
    cpdef Decision judge(self, key, Decision decision)
    cdef _learn(self, key)
    cdef _visit(self, key, cost, plan)
    cdef Entry _entry(self, Decision decision, key, cost, plan)


cpdef Decision waived(Decision decision)
