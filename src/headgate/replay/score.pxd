# C types of score.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
cdef long long ALLOWED
cdef long long DELAYED
cdef long long REFUSED
cdef long long SHADOWED
cdef long long MILLION
cdef long long MOST_PARTS
cdef long long CHARTED


@cython.final
cdef class Part:
    cdef public long long asked
    cdef public long long delayed
    cdef public long long refused
    cdef public long long shadowed


@cython.final
cdef class Timeline:
    cdef readonly dict parts
    cdef Part now
    cdef long long at
    cdef readonly long long rung
    cdef readonly long long width
    @cython.locals(at="long long")
    cpdef Part part(self, long long moment)
    @cython.locals(found=Part)
    cdef Part turn(self, long long at)
    @cython.locals(times="long long", part=Part, whole=Part)
    cpdef fold(self, long long rung)


@cython.final
cdef class Count:
    cdef public long long asked
    cdef public long long delayed
    cdef public long long refused
    cdef public long long shadowed
    cdef public dict when
    cdef public long long width


@cython.final
cdef class Score:
    cdef readonly object name
    cdef public long long room
    cdef public long long asked
    cdef public long long allowed
    cdef public long long delayed
    cdef public long long refused
    cdef public long long shadowed
    cdef public long long charted
    cdef public long long forgotten
    cdef public long long waited
    cdef readonly dict keys
    cdef readonly dict kinds
    cdef readonly Timeline timeline
    @cython.locals(part=Part, count=Count, known="long long")
    cpdef int64_t add(self, long long moment, key, long long outcome) except -1
    @cython.locals(part=Part)
    cpdef sum(self, long long moment, long long outcome)
    cdef mark(self, long long moment, Count count, Part part, long long outcome)
    @cython.locals(width="long long", when=dict, at="long long")
    cdef chart(self, long long moment, Count count)
    @cython.locals(one=Count)
    cdef thin(self)
    @cython.locals(count=Count)
    cpdef prune(self)
    @cython.locals(count=Count)
    cpdef tuple weight(self, key)


cpdef long long stopped(Count count)
@cython.locals(times="long long")
cdef dict folded(dict when, long long times)
