# C types of heads.py, for Cython.
from headgate.gateway.wire.exchange cimport Exchange
cimport cython
cdef long long CHUNKED
@cython.locals(parts=list)
cpdef bytes compose(Exchange exchange, bytes target, bytes host)
