# C types of server.py, for Cython.
cimport cython
from headgate.breakers.circuit cimport Circuit
cdef long long CLOSED
cdef long long FAILURE
cdef long long TIMEOUT


@cython.final
cdef class Server:
    cdef object __weakref__
    cdef public object place
    cdef public object name
    cdef public long long span
    cdef public list idle
    cdef public long long busy
    cdef public long long requests
    cdef public long long failures
    cdef public bint down
    cdef public object pulse
    cdef public long long limit
    cdef public object breaker
    cdef public Circuit circuit
    @cython.locals(circuit=Circuit)
    cpdef bint fit(self, long long now) except -1
    @cython.locals(circuit=Circuit, ticket=cython.longlong)
    cpdef long enter(self, long long now) except? -1
    @cython.locals(circuit=Circuit)
    cpdef leave(self, long long ticket, long long outcome, long long now, long long took)
    @cython.locals(idle=list)
    cpdef lend(self)
    cpdef keep(self, outlet)
    cpdef drop(self, outlet=*)
    cpdef forget(self, outlet)
    cpdef sweep(self, long long now)
