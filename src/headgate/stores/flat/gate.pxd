# C types of gate.py, for Cython.
cimport cython
from headgate.clock cimport SystemClock
from headgate.stores.flat.desk cimport Desk


@cython.final
cdef class Gate:
    cdef Desk desk
    cdef object plot
    cdef object thread
    cdef object marks
    cdef int enter(self) except -1
    @cython.locals(clock=SystemClock, until="long long", desk=Desk, taken=bint)
    cdef int wait(self) except -1
    cdef void leave(self) noexcept
    cpdef follow(self, Gate other)
