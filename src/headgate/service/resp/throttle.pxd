# C types of throttle.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.service.resp.numbers cimport brief
from headgate.service.resp.spoken cimport celled, crabbed


@cython.final
cdef class Throttle:
    cdef readonly object hall
    cdef dict _last
    cpdef cell(self, guest, list words)
    cpdef crab(self, guest, list words)
    cdef _ask(self, str verb, guest, list words)
    cdef _limiter(self, tuple word)
    cdef _note(self, tuple key, tuple word)
    cdef _move(self, tuple before, limiter, str key, cost)
    cpdef bytes _told(self, Decision decision, tuple word, cost)
