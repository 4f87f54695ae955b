# C types of speaker.py, for Cython.
cimport cython
from headgate.decision cimport Decision
cdef long long MILLION
cdef long long NEVER
cdef long long FAR
cdef long long LARGEST


@cython.final
cdef class Speaker:
    cdef long long pace
    cdef double window
    cdef double scale
    cdef bint newest
    cdef tuple line
    cdef bytes opening
    cdef list writers
    cdef object clock
    @cython.locals(left=cython.longlong, due=cython.longlong, seconds=cython.longlong)
    cpdef list say(self, Decision decision)
    cdef long long due(self, Decision decision, long long left) noexcept
    @cython.locals(seconds=cython.longlong, least=cython.double)
    cdef long long last(self, long long left, long long due) noexcept
    cdef list translate(self, long long left, long long seconds, long long due)
