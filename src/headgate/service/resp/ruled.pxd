# C types of ruled.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.service.resp.spoken cimport decided
from headgate.service.top cimport Tops


@cython.final
cdef class Ruled:
    cdef readonly object hall
    cdef Tops tops
    cpdef take(self, guest, list words)
    cpdef note(self, str rule, str key, Decision decision)
    cpdef tell(self, answer)
    cdef _ask(self, guest, list words, verb)
    cpdef bytes _told(self, Decision decision)
