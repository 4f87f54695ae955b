# C types of clock.py, for Cython.
cimport cython


@cython.final
cdef class SystemClock:
    cdef readonly long long offset
    cdef long long read(self) noexcept nogil


@cython.locals(clock=SystemClock, done=cython.longlong, count=cython.longlong)
cpdef double cost(long long reads)
