# C types of slot.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.bulkheads.room cimport Room
from headgate.bulkheads.waiter cimport Waiter

cdef long long OUTSIDE
cdef long long HELD
cdef long long OVER


@cython.final
cdef class Slot:
    cdef object _bulkhead
    cdef object _key
    cdef Room _room
    cdef long long _part
    cdef long long _patience
    cdef object _priority
    cdef long long _era
    cdef long long _start
    cdef long long _waited
    cdef long long _state
    cpdef Slot prepare(self, object bulkhead, Room room, object key, long long part, long long patience, object priority)
    cpdef int64_t begin(self) except -1
    cpdef object end(self, long long outcome)
    cdef object _arrive(self)
    cdef object _end(self, long long outcome)
    cdef object _refuse(self)


@cython.final
cdef class Done:
    pass
