# C types of speaker.py, for Cython.
cimport cython
from headgate.decision cimport Decision
cdef long long MILLION
cdef long long NEVER
cdef long long FAR


@cython.final
cdef class Speaker:
    cdef long long pace
    cdef double window
    cdef double scale
    cdef tuple line
    cdef bytes timed
    cdef bytes timeless
    @cython.locals(left=cython.longlong, reset=cython.longlong, seconds=cython.longlong, least=cython.double)
    cpdef tuple read(self, Decision decision)
    cpdef list say(self, Decision decision)
