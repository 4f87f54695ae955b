# C types of herald.py, for Cython.
cimport cython
from headgate.adapters.http.speaker cimport Speaker
from headgate.rules.live.entry cimport Entry, Pass


@cython.final
cdef class Told:
    cdef object headers
    cdef list policies
    cdef dict paces
    cdef bint quiet
    cdef Speaker speaker


@cython.final
cdef class Herald:
    cdef object _clock
    cdef object _headers
    cdef object _luck
    cdef dict _notices
    cdef bint _silent
    cdef public object missed
    @cython.locals(one=Pass, told=Told)
    cpdef list fields(self, Entry entry)
    @cython.locals(told=Told)
    cdef list _several(self, Entry entry)
    cpdef tuple answer(self, Entry entry, accept=*)


@cython.locals(told=Told)
cdef Told describe(Pass one, headers, clock)
