# C types of teller.py, for Cython.
cimport cython
from headgate.service.till cimport Till


@cython.final
cdef class Teller:
    cdef object __weakref__
    cdef readonly object lodge
    cdef public object secret
    cdef public object most
    cdef object _book
    cdef dict _tills
    cdef object _url
    cdef list _left
    cdef object _sets
    cdef object _tickets
    cdef object _holds
    cpdef Till till(self, rule)
    cpdef Till room(self, rule)
    cpdef Till find(self, rule)
    cdef _renew(self)
    cdef _leave(self)
