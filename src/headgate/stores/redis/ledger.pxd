# C types of ledger.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.stores.redis.wire cimport Call, Question


@cython.final
cdef class Tongue:
    cdef readonly tuple limits
    cdef readonly bint given
    cdef readonly bytes prefix
    cdef dict known
    cdef Call short
    cdef Call timed
    cdef readonly list calendars
    cdef list pages
    cdef Call long
    cdef Call longest
    cpdef Question take(self, str key, long long cost, long long now, long long patience)
    cpdef Decision decision(self, bytes reply)
