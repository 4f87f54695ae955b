# C types of ruled.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.service.resp.spoken cimport decided


@cython.final
cdef class Ruled:
    cdef readonly object hall
    cpdef take(self, guest, list words)
    cpdef tell(self, answer)
    cdef _ask(self, guest, list words, verb)
    cpdef bytes _told(self, Decision decision)
