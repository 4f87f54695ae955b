# C types of blocks.py, for Cython.
cimport cython
from headgate.service.grpc.head cimport Head


@cython.final
cdef class Blocks:
    cdef public object decoder
    cdef public dict known
    cdef object state
    @cython.locals(found=Head, head=Head)
    cpdef Head read(self, bytes block)
