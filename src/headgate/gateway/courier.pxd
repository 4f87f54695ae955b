# C types of courier.py, for Cython.
cimport cython
from headgate.wire.exchange cimport Exchange


@cython.final
cdef class Courier:
    cdef Exchange _exchange
    cdef object _arrive
    cdef object _way
    cdef object _waited
    @cython.locals(exchange=Exchange)
    cpdef step(self, waited=*)
    cpdef cancel(self)
