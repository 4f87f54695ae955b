# C types of async_line.py, for Cython.
cimport cython
from headgate.stores.redis.errand cimport Errand, fail, part
from headgate.stores.redis.wire cimport Question, belongs, nonces


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
    cdef readonly dict fresh
    cdef readonly object due
    cdef readonly long long told
    cdef readonly long long waiting
    cdef readonly long long time
    cdef readonly bint ticking
    cdef object clock
    cdef double next
    cdef readonly long long greeted
    cdef readonly object task
    @cython.locals(errand=Errand, first=Errand)
    cpdef run(self, Question question, read, future=*)
    @cython.locals(out=list)
    cdef _send(self, bytes head, bytes rest, Errand errand)
    @cython.locals(together=list, one=Errand)
    cdef _answer(self, Errand errand, reply)
    @cython.locals(first=Errand, one=Errand, number=cython.Py_ssize_t)
    cdef _deliver(self, list together, reply)
    cdef _tell(self, Errand errand, reply)
    @cython.locals(errand=Errand)
    cpdef data_received(self, data)
