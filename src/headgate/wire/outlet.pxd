# C types of outlet.py, for Cython.
cimport cython
from headgate.wire.ear cimport Ear
from headgate.wire.exchange cimport Exchange
from headgate.wire.house cimport House
from headgate.wire.inlet cimport Inlet
from headgate.wire.names cimport amount, meaning
from headgate.wire.reader cimport Reader
from headgate.wire.scroll cimport Scroll
from headgate.wire.pipe cimport Pipe
cdef long CODING
cdef long CONNECTION
cdef long HOP
cdef long LENGTH
cdef long PLAIN
cdef long UPGRADE
cdef long long LARGE
cdef long long NONE
cdef long long MOST
cdef long long HEAVIEST
cdef long OLD
cdef long MODERN
cdef long SPOILT
cdef long SIP
cdef long long LONG
cdef long BASIN
cdef dict LINES


cdef class Outlet(Ear):
    cdef object __weakref__
    cdef public object server
    cdef House house
    cdef public object transport
    cdef Pipe pipe
    cdef public Exchange exchange
    cdef bytes rest
    cdef public bint sound
    cdef public bint heard
    cdef public long long served
    cdef public bint lost
    cdef bint paused
    cdef public bint through
    cdef public long long expires
    cdef Reader reader
    cdef long status
    cdef bint dirty
    cdef list trailers
    cdef long long length
    cdef long long lines
    cdef long long weight
    cdef long long barren
    cdef long long known
    cdef bytes ties
    cdef bytes upgrade
    cdef bint fresh
    cdef bint coded
    cdef bint bare
    cdef bint framed
    cdef bint ended
    cdef begin(self)
    cpdef send(self, Exchange exchange, bytes head)
    cpdef write(self, data)
    @cython.locals(end=cython.long)
    cdef bint parse(self, Exchange exchange, data) except -1
    @cython.locals(inlet=Inlet, scroll=Scroll)
    cdef read(self, Exchange exchange, data)
    @cython.locals(line=bytes)
    cdef head(self)
    @cython.locals(exchange=Exchange)
    cdef trail(self, bytes name, bytes value, long kind)
    @cython.locals(scroll=Scroll)
    cdef inform(self, Exchange exchange, long status)
    @cython.locals(scroll=Scroll)
    cdef answer(self, Exchange exchange, long status)
    cdef frame(self, Exchange exchange, long status)
    cdef release(self, Exchange exchange)
    cdef turn(self, Exchange exchange, bytes rest)
    cdef fail(self, Exchange exchange)
    cpdef pause(self)
    cpdef resume(self)
    cpdef bint ready(self) except -1
    cpdef close(self)
    @cython.locals(exchange=Exchange)
    cpdef data_received(self, data)
    @cython.locals(known=cython.longlong)
    cdef bint endless(self, Exchange exchange, data) except -1
    @cython.locals(sink=Pipe, inlet=Inlet)
    cdef lead(self, Exchange exchange, long long rest)
    @cython.locals(exchange=Exchange)
    cpdef passed(self, Py_ssize_t size)
    cpdef on_message_begin(self)
    @cython.locals(kind=cython.long)
    cpdef on_header(self, bytes name, bytes value)
    @cython.locals(exchange=Exchange)
    cpdef on_headers_complete(self)
    @cython.locals(exchange=Exchange, scroll=Scroll, size=cython.Py_ssize_t)
    cpdef on_body(self, part)
    @cython.locals(exchange=Exchange, last=bytes)
    cpdef on_message_complete(self)
