# C types of desk.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.adapters.http.herald cimport Herald
from headgate.clock cimport SystemClock
from headgate.gateway.courier cimport Courier
from headgate.gateway.road cimport Road
from headgate.gateway.way cimport Way
from headgate.gateway.upstreams.server cimport Server
from headgate.telemetry.meter cimport Meter
from headgate.wire.exchange cimport Exchange
from headgate.wire.house cimport House
from headgate.wire.inlet cimport Inlet
from headgate.wire.names cimport untied
from headgate.wire.outlet cimport Outlet
from headgate.wire.scroll cimport Scroll
from headgate.rules.live.entry cimport Entry
from headgate.rules.live.ferry cimport Ferry
from headgate.rules.live.turnstile cimport Turnstile
cdef long ANSWERING
cdef long TUNNEL
cdef long WAITING
cdef long FAILURE
cdef long TURNED
cdef long SUCCESS


@cython.final
cdef class Desk:
    cdef object __weakref__
    cdef public object keeper
    cdef object clock
    cdef SystemClock system
    cdef public Meter stray
    cdef public object docket
    cdef public object lodge
    cdef public object errands
    cdef public object lobby
    cdef public object purser
    cdef public House house
    cdef Scroll scroll
    cdef public long long requests
    cdef public long long refused
    cdef public bint closing
    cdef public set paused
    cdef public dict ways
    cdef public object book
    cdef public object manners
    cdef public bytes hearsay
    cdef public bytes private
    cdef public object version
    cdef public object roads
    @cython.locals(way=Way, inlet=Inlet)
    cpdef admit(self, Exchange exchange)
    @cython.locals(entry=Entry)
    cdef ask(self, Exchange exchange, Way way, Inlet inlet)
    @cython.locals(courier=Courier)
    cdef cross(self, Exchange exchange, Ferry ferry, Inlet inlet)
    cpdef arrive(self, Exchange exchange, answer)
    @cython.locals(inlet=Inlet)
    cpdef meet(self, Exchange exchange)
    cpdef usher(self, Exchange exchange, Entry entry)
    @cython.locals(road=Road, server=Server, inlet=Inlet, now=cython.longlong)
    cpdef forward(self, Exchange exchange)
    @cython.locals(road=Road, inlet=Inlet)
    cpdef send(self, Exchange exchange, Outlet outlet)
    @cython.locals(inlet=Inlet)
    cpdef complete(self, Exchange exchange)
    @cython.locals(inlet=Inlet, patience=cython.longlong)
    cpdef expect(self, Exchange exchange)
    @cython.locals(entry=Entry, herald=Herald)
    cpdef dress(self, Exchange exchange, Scroll scroll)
    @cython.locals(scroll=Scroll)
    cpdef reply(self, Exchange exchange, long status, list fields, bytes body)
    @cython.locals(entry=Entry, road=Road, inlet=Inlet)
    cpdef conclude(self, Exchange exchange)
    @cython.locals(now=cython.longlong, server=Server, took=cython.longlong)
    cpdef judge(self, Exchange exchange, long outcome)
    @cython.locals(road=Road, meter=Meter)
    cpdef count(self, Exchange exchange, long status)
    cdef int64_t time(self) except? -1
    @cython.locals(road=Road, inlet=Inlet)
    cpdef stall(self, Exchange exchange)
