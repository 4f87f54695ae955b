# C types of line.py, for Cython.
cimport cython
from headgate.clock cimport SystemClock
from headgate.stores.redis.wire cimport Question, belongs, nonces


@cython.final
cdef class Line:
    cdef readonly object place
    cdef readonly tuple spot
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
    @cython.locals(left="double")
    cpdef list tell(self, bytes payload, int replies, long long deadline)
    @cython.locals(pieces="long long", size="Py_ssize_t")
    cdef _receive(self, long long deadline)
    cdef Py_ssize_t _piece(self, long long deadline) except -1
    cdef _limit(self, double seconds)
    cdef double _left(self, long long deadline) except -1
