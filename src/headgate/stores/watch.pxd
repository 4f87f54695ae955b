# C types of watch.py, for Cython.
cimport cython
cdef long long REST
cdef long long SPAN


@cython.final
cdef class Watch:
    cdef readonly object title
    cdef readonly bint failing
    cdef readonly long long failures
    cdef readonly long long outages
    cdef public long long instances
    cdef readonly long long row
    cdef long long _retry
    cdef long long _beat
    cdef long long _since
    cdef long long _spent
    cdef readonly dict errors
    cdef public object meter
    cpdef bint open(self, long long now)
    cpdef bint beating(self, long long now)
    cpdef void succeed(self, long long now=*) except *
