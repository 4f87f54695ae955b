# C types of decision.py, for Cython.
cdef long long ALLOWED
cdef long long OVER
cdef long long NEVER
cdef long long UNKNOWN


cdef class Decision:
    cdef readonly bint allowed
    cdef readonly bint degraded
    cdef readonly long long limit
    cdef readonly long long remaining
    cdef long long retry
    cdef long long reset
    cdef long long why
    cdef object source
    cpdef void fill(self, long long why, long long limit, long long remaining, long long retry, long long reset, object source)
