# C types of channel.py, for Cython.
cimport cython
from headgate.service.grpc.blocks cimport Blocks
from headgate.service.grpc.call cimport Call
from headgate.service.grpc.head cimport Head
from headgate.service.grpc.methods cimport Method
from headgate.wire.ear cimport Ear
from headgate.wire.house cimport House
from headgate.wire.pipe cimport Pipe
cdef long long FOREVER
cdef long DATA
cdef long END_HEADERS
cdef long END_STREAM
cdef long FRAME
cdef long HEAD
cdef long HEADERS
cdef long long MOST
cdef long PADDED
cdef long WEIGHED
cdef long FINAL
cdef long GREETING
cdef long OPEN
cdef long HALF
cdef long LAG
cdef long LIGHT
cdef long STREAM_HALF
cdef long STREAM_WINDOW
cdef long STREAMS
cdef long WIDE
cdef long PREFIX
cdef bytes GRPC
cdef bytes LEAD
cdef bytes TAIL
cdef bytes TRAILERS


cdef class Channel(Ear):
    cdef object __weakref__
    cdef public object hall
    cdef public House house
    cdef public object methods
    cdef public object port
    cdef public bint named
    cdef public object peer
    cdef public object caller
    cdef public object transport
    cdef Pipe pipe
    cdef public Blocks blocks
    cdef public dict calls
    cdef public dict blocked
    cdef public dict shed
    cdef public set tasks
    cdef public long long last
    cdef public long long forgotten
    cdef public long long final
    cdef public long long room
    cdef public long long initial
    cdef public long long most
    cdef public long long taken
    cdef public long long hoard
    cdef public long long owed
    cdef public list thirsty
    cdef public bytes rest
    cdef public list parts
    cdef public long long mid
    cdef public long opening
    cdef public list out
    cdef public long long begun
    cdef public long long heard
    cdef public long long idle
    cdef public long long cut
    cdef public long long stuck
    cdef public long long asked
    cdef public long long deadline
    cdef public long stage
    cdef public long parting
    cdef public bint small
    cdef public bint reading
    cdef public bint clogged
    cdef public bint deaf
    cdef public bint lost
    cdef public bint probed
    cdef public object fuss
    cdef public object resets
    cdef public long long moved
    cdef public long long served
    cpdef data_received(self, data)
    @cython.locals(
        place=cython.Py_ssize_t, size=cython.Py_ssize_t, start=cython.Py_ssize_t,
        length=cython.long, kind=cython.long, flags=cython.long, stream=cython.longlong)
    cdef read(self, bytes data)
    cdef keep(self, bytes data, Py_ssize_t place)
    cdef open(self, bytes data, Py_ssize_t start, Py_ssize_t end, long flags, long long stream)
    @cython.locals(head=Head, call=Call)
    cpdef head(self, bytes block, long flags, long long stream)
    @cython.locals(when=cython.longlong, method=Method)
    cdef begin(self, Call call)
    @cython.locals(
        size=cython.Py_ssize_t, call=Call, ended=cython.bint, length=cython.longlong,
        told=cython.longlong, whole=cython.bint)
    cdef take(self, bytes data, Py_ssize_t start, Py_ssize_t end, long flags, long long stream)
    @cython.locals(length=cython.longlong)
    cpdef gather(self, Call call, bytes part, bint ended)
    cpdef ask(self, Call call, bytes message)
    @cython.locals(
        length=cython.Py_ssize_t, size=cython.Py_ssize_t, name=bytes, narrow=cython.bint)
    cpdef reply(self, Call call, bytes message)
    cpdef send(self, Call call, bytes message)
    cpdef conclude(self, Call call, long code, str message)
    cpdef stumble(self, Call call, problem)
    cpdef end(self, Call call, bytes block)
    cpdef shut(self, Call call, bytes block)
    cpdef tell(self, Call call, bytes block, long flags)
    cdef close(self, Call call)
    cpdef drop(self, Call call, long code)
    @cython.locals(done=cython.bint)
    cpdef abandon(self, Call call)
    cdef forget(self, Call call)
    cpdef strike(self)
    cpdef bother(self, long cost)
    cpdef wake(self, long long when)
    cpdef flush(self)
    cpdef leave(self, long code, str why=*)
    cpdef linger(self)
    @cython.locals(call=Call, done=cython.bint)
    cdef scatter(self)


@cython.locals(first=cython.longlong)
cdef long long four(bytes data, Py_ssize_t place) except? -1
