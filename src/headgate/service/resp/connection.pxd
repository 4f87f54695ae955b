# C types of connection.py, for Cython.
cimport cython
from headgate.service.resp.clerk cimport Clerk
from headgate.service.resp.reader cimport Reader
from headgate.wire.ear cimport Ear
from headgate.wire.house cimport House
cdef Py_ssize_t PENDING
cdef Py_ssize_t PORTION


@cython.final
cdef class Slip:
    cdef public bytes answer
    cdef public object task


cdef class Connection(Ear):
    cdef object __weakref__
    cdef readonly object hall
    cdef House house
    cdef readonly object port
    cdef readonly str peer
    cdef readonly Clerk clerk
    cdef readonly object number
    cdef public object transport
    cdef public long long deadline
    cdef Reader reader
    cdef list out
    cdef readonly object queue
    cdef bint choked
    cdef bint clogged
    cdef bint last
    cdef bint gone
    cdef bint ended
    cdef long long leaving
    cdef public object caller
    cdef public bytes name
    cdef public bint modern
    cpdef data_received(self, data)
    @cython.locals(reader=Reader, clerk=Clerk, words=list, size=cython.Py_ssize_t)
    cdef serve(self)
    cdef pour(self)
    cdef hold(self, answer)
    cdef put(self, bytes answer)
    cpdef arrive(self, Slip slip, task)
    @cython.locals(out=list)
    cdef say(self)
    cdef finish(self)
    @cython.locals(house=House)
    cdef watch(self)
    cdef heed(self)
