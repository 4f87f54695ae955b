# C types of patron.py, for Cython.
cimport cython
from headgate.wire.inlet cimport Inlet
cdef long BODY
cdef long HEAD
cdef long IDLE
cdef long TUNNEL


@cython.final
cdef class Patron(Inlet):
    cdef public object caller
