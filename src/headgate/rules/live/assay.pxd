# C types of assay.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
cdef long long GRAIN
cdef long long PLACES
cdef long long FROM_NOW
cdef long long LOW


@cython.final
cdef class Scale:
    cdef long long most
    cdef long long span
    cdef long long burst
    cdef long long full
    cdef long long grain
    cdef long long first
    cdef long long size
    cdef long long sum
    cdef long long last
    cdef long long level
    cdef readonly long long latest
    cdef long long room
    cdef long long* cells
    cdef object view
    @cython.locals(at="long long")
    cpdef see(self, long long now, long long units)
    cpdef bint fits(self, long long now, long long units)
    @cython.locals(gone="long long")
    cdef long long lacks(self, long long now) noexcept
    cdef long long newest(self) noexcept
    @cython.locals(cells="long long*")
    cdef void prune(self, long long now) noexcept
    @cython.locals(fresh="long long*", place="long long", at="long long")
    cdef grow(self, long long room)


@cython.final
cdef class Assay:
    cdef readonly tuple limits
    cdef readonly bint awake
    cdef readonly long long span
    cdef long long salt
    cdef readonly long long began
    cdef readonly long long count
    cdef readonly long long keep
    cdef long long* marks
    cdef object view
    cdef list scales
    @cython.locals(mark="long long")
    cpdef int64_t weigh(self, key, long long units, long long now, bint allowed) except -1
    @cython.locals(mixed="unsigned long long")
    cdef long long mark(self, long long digest) noexcept
    @cython.locals(place="long long", scale=Scale, scales=list)
    cdef int64_t judge(self, long long mark, long long units, long long now, bint allowed) except -1
    @cython.locals(marks="long long*", place="long long")
    cdef long long seek(self, long long mark) noexcept
    @cython.locals(place="long long")
    cdef int64_t enter(self, long long mark, long long now) except -2
    @cython.locals(keep="long long", began="long long", count="long long")
    cdef thin(self, long long now)
    @cython.locals(place="long long")
    cdef seat(self, view, list scales, list kept)
