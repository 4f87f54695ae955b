# C types of inlet.py, for Cython.
cimport cython
from headgate.wire.ear cimport Ear
from headgate.wire.exchange cimport Exchange
from headgate.wire.house cimport House
from headgate.wire.names cimport meaning, untied
from headgate.wire.reader cimport Reader
from headgate.wire.pipe cimport Pipe
cdef long PLAIN
cdef long long CHUNKED
cdef long long QUEUE
cdef long long HELD
cdef long long SLACK
cdef long long EXCESS
cdef long SPACE
cdef long OLD
cdef long MODERN
cdef long SPOILT
cdef long IDLE
cdef long HEAD
cdef long BODY
cdef long WAITING
cdef long ANSWERING
cdef long TUNNEL
cdef long LINGERING


cdef class Inlet(Ear):
    cdef object __weakref__
    cdef public object desk
    cdef House house
    cdef public object scheme
    cdef public object peer
    cdef public object transport
    cdef public list queue
    cdef public Exchange latest
    cdef list held
    cdef public object well
    cdef public object client
    cdef public object key
    cdef public object manners
    cdef public object counted
    cdef public bint trusted
    cdef public bint lost
    cdef public bint clogged
    cdef public bint paused
    cdef bint halted
    cdef bint feeding
    cdef bint behind
    cdef long long barren
    cdef long long known
    cdef object data
    cdef public bytes forwarded
    cdef public long long served
    cdef public long phase
    cdef public long long deadline
    cdef public long long limit
    cdef Pipe pipe
    cdef Reader reader
    cpdef data_received(self, data)
    @cython.locals(end=cython.long)
    cdef read(self, data)
    @cython.locals(known=cython.longlong)
    cdef measure(self, Exchange exchange, data)
    cdef hold(self, data)
    cpdef on_message_begin(self)
    @cython.locals(exchange=Exchange)
    cpdef on_url(self, bytes part)
    @cython.locals(exchange=Exchange, kind=cython.long, said=list, size=cython.Py_ssize_t)
    cpdef on_header(self, bytes name, bytes value)
    @cython.locals(exchange=Exchange, reader=Reader, old=cython.bint)
    cpdef on_headers_complete(self)
    cdef bint aged(self, Exchange exchange, long version) except -1
    cdef start(self, Exchange exchange)
    @cython.locals(exchange=Exchange)
    cpdef on_body(self, part)
    @cython.locals(exchange=Exchange)
    cpdef on_message_complete(self)
    @cython.locals(exchange=Exchange)
    cdef spoil(self)
    @cython.locals(exchange=Exchange)
    cpdef blame(self, long status)
    cpdef advance(self, Exchange exchange)
    cdef proceed(self)
    cpdef linger(self)
    cdef deafen(self)
    cpdef tunnel(self, outlet)
    cpdef write(self, data)
    cpdef splice(self, list parts)
    cdef choke(self)
    cdef halt(self, bint halted)
    cdef heed(self)
    cpdef pause(self)
    cpdef resume(self)
    cpdef close(self)
