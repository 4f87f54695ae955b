# C types of bulkhead.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.clock cimport SystemClock
from headgate.bulkheads.room cimport Room
from headgate.bulkheads.slot cimport Slot


@cython.final
cdef class Bulkhead:
    cdef object __weakref__
    cdef readonly long long limit
    cdef readonly object adaptive
    cdef readonly long long queue
    cdef long long ageing
    cdef long long newest_after
    cdef dict parts
    cdef tuple shares
    cdef bint plain
    cdef bint lend
    cdef readonly object name
    cdef readonly object clock
    cdef SystemClock system
    cdef Room main
    cdef readonly dict rooms
    cdef readonly object permits
    cdef readonly object gate
    @cython.locals(part="long long", patience="long long", room=Room, slot=Slot)
    cdef Slot slot(self, object key, object timeout, object priority, object partition)
    cpdef Room room(self, object key)
    cpdef int64_t part(self, object partition) except -1
    cpdef int64_t time(self) except? -1
    cpdef int64_t moment(self) except? -1
