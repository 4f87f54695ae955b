# C types of hits.py, for Cython.
cimport cython


@cython.final
cdef class Spot:
    cdef readonly object method
    cdef readonly object path
    cdef readonly object query
    cdef readonly object host
    cdef readonly bint asked
    cdef readonly list notes


cdef class Hit:
    cdef public long long at
    cdef public long long took
    cdef public long long status
    cdef public long long size
    cdef public Spot spot
    cdef public object peer
    cdef public object forwarded
    cdef public object host
    cdef public object scheme
    cdef public object user
    cdef public dict headers


@cython.final
cdef class Spots:
    cdef dict known
    cpdef Spot line(self, bytes said)
    cpdef Spot pair(self, bytes method, bytes target)
    cdef Spot keep(self, bytes said, Spot found)


cpdef Spot spot(bytes method, bytes target)
