# C types of meter.py, for Cython.
cimport cython
cdef long long TIMES
cdef long long HUNDREDS
cdef long long SPENT
cdef long long COUNTS


@cython.final
cdef class Meter:
    cdef object __weakref__
    cdef readonly tuple bounds
    cdef readonly object limits
    cdef readonly long long size
    cdef long long* edges
    cdef long long* cells
    cdef object view
    cdef readonly bint placed
    cpdef void note(self, long long status, long long took) noexcept
    @cython.locals(cells="long long*", hundred="long long", place="long long")
    cdef void add(self, long long status, long long took) noexcept
    cpdef move(self, view)
    @cython.locals(fresh="long long*", place="long long")
    cdef carry(self, view)
    cpdef leave(self)
