# C types of ledger.py, for Cython.
cimport cython
from headgate.algorithms.limit cimport Limit
from headgate.decision cimport Decision
from headgate.stores.redis.wire cimport Call, Question


@cython.final
cdef class Tongue:
    cdef readonly tuple limits
    cdef readonly bint given
    cdef readonly bytes prefix
    cdef readonly dict known
    cdef Call short
    cdef Call timed
    cdef Call often
    cdef readonly list calendars
    cdef list pages
    cdef Call long
    cdef Call longest
    cpdef Question take(self, str key, long long cost, long long now, long long patience)
    @cython.locals(code="long long", wait="long long", remaining="long long", reset="long long", limit=Limit, decision=Decision)
    cpdef Decision decision(self, bytes reply)


@cython.final
cdef class RedisLedger:
    cdef object __weakref__
    cdef readonly Tongue tongue
    cdef object _ask
    cdef object _forget
    cdef object _call
    cdef readonly bint direct
    cpdef call(self, str key, long long cost, long long now, reply)
