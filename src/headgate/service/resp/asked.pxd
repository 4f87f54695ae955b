# C types of asked.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.service.resp.numbers cimport brief, whole
from headgate.service.resp.spoken cimport verdict


@cython.final
cdef class Asked:
    cdef readonly object hall
    cdef object _known
    cdef object _tickets
    cdef object _alive
    cpdef open(self, guest, list words)
    cpdef ask(self, guest, list words)
    @cython.locals(cost=cython.longlong, times=cython.longlong)
    cdef _take(self, found, now, list words)
    cpdef bytes tell(self, Decision decision, limits, long long units=*)


@cython.locals(place=cython.Py_ssize_t)
cdef long long number(Decision decision, limits) except -1
