# C types of errand.py, for Cython.
cimport cython
from headgate.stores.redis.wire cimport Question
cdef long DECISION
cdef long NONCE
cdef long TOGETHER
cdef list TIMES


@cython.final
cdef class Errand:
    cdef readonly Question question
    cdef readonly object future
    cdef readonly object read
    cdef public bytes nonce
    cdef public long long time
    cdef public Py_ssize_t spot
    cdef readonly list riders
    @cython.locals(mine=Question, question=Question)
    cpdef bint join(self, Errand other, list out, long long time) except -1
    cpdef list all(self)


@cython.locals(said=bytes)
cpdef part(reply, Py_ssize_t number)
cpdef fail(Errand errand, problem)
