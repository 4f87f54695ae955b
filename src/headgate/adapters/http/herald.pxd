# C types of herald.py, for Cython.
cimport cython
from headgate.rules.live.entry cimport Entry, Pass


@cython.final
cdef class Herald:
    cdef object _clock
    cdef object _headers
    cdef object _luck
    cdef dict _notices
    cdef bint _silent
    cdef public object missed
    @cython.locals(one=Pass)
    cpdef list fields(self, Entry entry)
    cdef list _several(self, Entry entry)
    cpdef tuple answer(self, Entry entry, accept=*)
