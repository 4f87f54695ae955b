# C types of line.py, for Cython.
cimport cython
from headgate.clock cimport SystemClock
from headgate.stores.redis.wire cimport Question, belongs, nonces


@cython.final
cdef class Line:
    cdef readonly object place
    cdef readonly tuple spot
    cdef readonly long long era
    cdef SystemClock clock
    cdef double budget
    cdef object reader
    cdef object room
    cdef object door
    cdef readonly bint closed
    cdef unsigned long long count
    cdef readonly object socket
    cdef bint timed
    cpdef ask(self, Question question, bint full, bint asking, long long deadline)
    cpdef list tell(self, bytes payload, int replies, long long deadline)
    @cython.locals(left="double", sent="Py_ssize_t")
    cdef _write(self, bytes payload, long long deadline)
    cdef Py_ssize_t _push(self, bytes payload) except -1
    @cython.locals(size="Py_ssize_t")
    cdef _receive(self, long long deadline)
    @cython.locals(left="double")
    cdef Py_ssize_t _piece(self, long long deadline) except -1
    cdef double _left(self, long long deadline) except -1
