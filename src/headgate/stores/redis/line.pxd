# C types of line.py, for Cython.
cimport cython
from headgate.stores.redis.wire cimport Question


@cython.final
cdef class Line:
    cdef readonly object place
    cdef object clock
    cdef double budget
    cdef object reader
    cdef unsigned long long count
    cdef readonly object socket
    cdef bint timed
    cpdef ask(self, Question question, bint full, bint asking, long long deadline)
    cpdef list tell(self, bytes payload, int replies, long long deadline)
    cdef _receive(self, long long deadline)
    cdef _piece(self, long long deadline)
    cdef _limit(self, double seconds)
    cdef double _left(self, long long deadline) except -1
