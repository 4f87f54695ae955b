# C types of async_line.py, for Cython.
cimport cython
from headgate.stores.redis.wire cimport Question, belongs, nonces


@cython.final
@cython.freelist(256)
cdef class Errand:
    cdef readonly Question question
    cdef readonly object future
    cdef readonly object read
    cdef readonly bytes nonce
    cdef readonly long long time


@cython.final
cdef class AsyncLine:
    cdef object __weakref__
    cdef readonly object place
    cdef readonly double budget
    cdef object mend
    cdef object doubt
    cdef readonly object loop
    cdef object reader
    cdef unsigned long long count
    cdef readonly object transport
    cdef readonly object broken
    cdef readonly list out
    cdef readonly object due
    cdef readonly long long told
    cdef readonly long long time
    cdef readonly bint ticking
    cdef object clock
    cdef double next
    cdef readonly long long greeted
    cdef readonly object task
    @cython.locals(errand=Errand)
    cpdef run(self, Question question, read, future=*)
    @cython.locals(out=list)
    cdef _send(self, bytes head, bytes rest, Errand errand)
    cdef _answer(self, Errand errand, reply)
    @cython.locals(errand=Errand)
    cpdef data_received(self, data)
