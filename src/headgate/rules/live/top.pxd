# C types of top.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
cdef long long M
cdef long long T
cdef long long E
cdef long long N
cdef long long W
cdef long long LONGEST
cdef long long FIRST


@cython.final
cdef class Top:
    cdef long long* cells
    cdef object view
    cdef list keys
    cdef readonly long long count
    cdef readonly long long least
    cdef long long most
    cdef long long room
    cdef readonly long long total
    @cython.locals(mark="long long")
    cpdef note(self, key)
    @cython.locals(at="long long")
    cdef int64_t add(self, long long mark, key) except -1
    @cython.locals(cells="long long*", last="long long", place="long long", found="long long")
    cdef long long seek(self, long long mark) noexcept
    @cython.locals(at="long long", cells="long long*")
    cdef int64_t enter(self, long long mark) except -1
    @cython.locals(at="long long")
    cdef int64_t name(self, long long mark, key) except -1
    @cython.locals(
        old="long long*", fresh="long long*", count="long long", place="long long",
        at="long long", to="long long", spot="long long", names=list,
    )
    cdef rebuild(self, long long room, long long floor)
    @cython.locals(step="long long", low="long long", middle="long long")
    cdef long long median(self) noexcept
    @cython.locals(cells="long long*", found="long long", at="long long", end="long long")
    cdef long long below(self, long long most) noexcept


@cython.final
cdef class Tops:
    cdef readonly Top passed
    cdef readonly Top refused
    cdef readonly Top passed_before
    cdef readonly Top refused_before
    cdef readonly long long since
    cdef readonly long long until
    cpdef turn(self, long long now)
    cdef follow(self, long long now, list fresh)
