# C types of road.py, for Cython.
cimport cython
from headgate.gateway.upstreams.server cimport Server
from headgate.telemetry.meter cimport Meter
from headgate.wire.exchange cimport Exchange
from headgate.wire.heads cimport compose
from headgate.wire.scroll cimport Scroll


@cython.final
cdef class Road:
    cdef public object route
    cdef public object mark
    cdef public object group
    cdef public Server only
    cdef public object faults
    cdef public long least
    cdef public object budget
    cdef public Meter meter
    cdef public long long asked
    cdef public long long connect
    cdef public long long answer
    cdef public long long stall
    cdef public long long total
    cdef public long most
    cdef public object upgrade
    cdef public bytes host
    cdef public bytes strip
    cdef public bytes add
    cdef bint _direct
    cpdef bint repeats(self, Exchange exchange) except -1
    cpdef bint fails(self, long status) except -1
    cpdef bytes compose(self, Exchange exchange, Scroll scroll)
    cdef bytes _rewrite(self, bytes target)
    cpdef Server pick(self, request, long long now, tried)
