# C types of async_limiter.py, for Cython.
cimport cython
from headgate.limiter cimport Limiter


@cython.final
cdef class AsyncLimiter:
    cdef object __weakref__
    cdef readonly Limiter _limiter
    cdef object _far
    cdef object _now
