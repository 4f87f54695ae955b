# C types of wire.py, for Cython.
cimport cython


@cython.final
cdef class Call:
    cdef readonly bytes full
    cdef readonly bytes quick


@cython.final
cdef class Question:
    cdef readonly Call call
    cdef readonly bytes slot
    cdef readonly bytes quick
    cdef readonly bytes rest
    cdef readonly bytes joint
    cdef readonly bytes along


cpdef bytes nonces(unsigned long long number)
cpdef bint belongs(reply, bytes nonce)
