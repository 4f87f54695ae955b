# C types of room.py, for Cython. What `enter` answers stays Python's, because others import it.
cimport cython
from headgate.bulkheads.waiter cimport Waiter

cdef long long WHOLE
cdef long long FOREVER
cdef list NOBODY


@cython.final
cdef class Room:
    cdef readonly long long limit
    cdef long long queue
    cdef long long newest_after
    cdef bint lend
    cdef readonly long long inside
    cdef readonly long long waiting
    cdef readonly long long retired
    cdef readonly long long era
    cdef long long tickets
    cdef long long dead
    cdef long long parts
    cdef tuple shares
    cdef list held
    cdef list queued
    cdef list lines
    cdef object lock
    cdef readonly object gauge
    @cython.locals(answer="long long")
    cpdef long long enter(self, long long part) noexcept
    @cython.locals(answer="long long")
    cpdef long long join(self, Waiter waiter) noexcept
    @cython.locals(found=list)
    cpdef list leave(self, long long part, long long now, long long era)
    @cython.locals(answer="long long")
    cpdef long long quit(self, Waiter waiter) noexcept
    cpdef void extend(self, long long queue) noexcept
    @cython.locals(found=list)
    cpdef list resize(self, long long limit, long long now)
    @cython.locals(found=list)
    cpdef list lose(self, Waiter waiter, long long now)
    @cython.locals(gone="long long")
    cpdef long long retire(self) noexcept
    cpdef void empty(self) noexcept
    cdef long long close(self) noexcept
    cdef list forget(self, Waiter waiter, long long now)
    cdef long long step_in(self, long long part) noexcept
    @cython.locals(answer="long long", line=list)
    cdef long long stand(self, Waiter waiter) noexcept
    cdef list step_out(self, long long part, long long now, long long era)
    cdef long long turn_away(self, Waiter waiter) noexcept
    @cython.locals(found=list, part="long long", waiter=Waiter)
    cdef list fill(self, long long now)
    @cython.locals(chosen="long long", part="long long", lent="long long", line=list)
    cdef long long turn(self) noexcept
    @cython.locals(line=list)
    cdef Waiter first(self, long long part, long long now)
    cdef void drop(self, list line) noexcept
    @cython.locals(line=list)
    cdef void clean(self) noexcept
    cdef long long own(self, long long part) noexcept
