# C types of scribe.py, for Cython.
cimport cython
cdef long long OVER
cdef bytes LASTING
cdef bytes LEFT
cdef list LAST
cdef list MORE


@cython.locals(told=bytes)
cpdef bytes varint(long long number)
cpdef bytes limited(long long count, long long unit, name)
@cython.locals(told=bytes, length=bytes, seconds=cython.longlong)
cpdef bytes status(long long code, bytes limit, long long remaining, long long wait)
cpdef bytes answer(long long code, bytes statuses)
