# C types of fallback.py, for Cython.
cimport cython
from headgate.stores.watch cimport Watch


@cython.final
cdef class Fallback:
    cdef object __weakref__
    cdef readonly object ledger
    cdef readonly Watch watch
    cdef readonly object mode
    cdef readonly long long degraded
    cdef readonly bint awaited
    cdef readonly bint direct
    cdef object _beat
    cdef object _try
    cdef readonly object _local
    cdef readonly dict _owed
    cdef readonly dict _debits
    cdef long long _parts
    cdef long long _round
    cpdef call(self, key, long long cost, long long now, arrive)
    cpdef thrive(self, long long now)
    cpdef endure(self, problem, key, long long cost, long long now)
    cdef bint _restless(self, long long now) except -1
