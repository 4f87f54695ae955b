# C types of rows.py, for Cython.
cimport cython
from headgate.algorithms.limit cimport Reply, Limit
from headgate.stores.flat.desk cimport Desk

cdef long long GROUP
cdef long long FOREVER


@cython.final
cdef class Rows:
    cdef readonly tuple limits
    cdef Limit only
    cdef readonly long long count
    cdef long long most
    cdef readonly long long capacity
    cdef readonly long long groups
    cdef readonly long long size
    cdef readonly long long stride
    cdef readonly long long evicted
    cdef readonly long long crowded
    cdef Desk desk
    cdef object view
    cdef long long* cells
    cdef long long offsets[8]
    cdef long long search(self, long long mark) noexcept nogil
    cdef long long place(self, long long mark, long long now) noexcept
    cdef long long vacant(self, long long mark, long long now) noexcept nogil
    cdef long long room(self, long long base, long long now) noexcept nogil
    cdef long long nearest(self, long long mark, long long now) noexcept
    cdef long long group(self, long long mark, long long side) noexcept nogil
    @cython.locals(limit=Limit)
    cdef bint owes(self, long long row, long long now) noexcept
    @cython.locals(limit=Limit)
    cdef void open(self, long long row, long long now) noexcept
    cdef void punish(self, Limit limit, long long row, long long start, long long now, long long remaining) noexcept
    cdef void extend(self, Limit limit, long long row, long long start, long long now) noexcept
    @cython.locals(limit=Limit)
    cdef void restate(self, long long row, long long now) noexcept
    cdef long long glance(self, long long mark, long long now) noexcept
    cdef long long shared(self, long long now) noexcept
    cdef void book(self, Limit limit, long long start, long long now, long long ahead, double units) noexcept
    cdef void clear(self, long long mark) noexcept nogil
    cdef void note(self, long long row) noexcept nogil
    cpdef long long live(self, long long now) noexcept
