# C types of heads.py, for Cython.
cimport cython
from headgate.wire.exchange cimport Exchange
from headgate.wire.scroll cimport Scroll
cdef long long CHUNKED
cdef bytes END


@cython.locals(said=list, place=cython.Py_ssize_t)
cpdef bytes compose(Exchange exchange, bytes target, bytes host, Scroll scroll)
