# C types of exchange.py, for Cython.
cimport cython
cdef dict HOSTS
cdef long CODING
cdef long CONNECTION
cdef long EXPECT
cdef long HOST
cdef long LENGTH
cdef long ODD
cdef long PLAIN
cdef long UPGRADE


@cython.final
cdef class Exchange:
    cdef public object inlet
    cdef public object desk
    cdef public list said
    cdef public list asides
    cdef public list trailers
    cdef public bytes method
    cdef public bytes target
    cdef public bytes host
    cdef public bytes ties
    cdef public bytes upgrade
    cdef public bytes raw
    cdef public long long length
    cdef public long long lines
    cdef public long long weight
    cdef public long long unread
    cdef public long long carried
    cdef public long fault
    cdef public bint headed
    cdef public bint coded
    cdef public bint expects
    cdef public bint old
    cdef public bint keep
    cdef public bint whole
    cdef public list backlog
    cdef public long long held
    cdef public bint replay
    cdef public object spot
    cdef public object request
    cdef public object entry
    cdef public object road
    cdef public object server
    cdef public object outlet
    cdef public object tried
    cdef public object task
    cdef public bytes forwarded
    cdef public long long start
    cdef public long long began
    cdef public long long since
    cdef public long long took
    cdef public long long ticket
    cdef public long status
    cdef public long long size
    cdef public bint begun
    cdef public bint over
    cdef public bytes told
    cdef public object valve
    cdef public object purse
    cpdef note(self, bytes name, bytes value, long kind)
    cdef trail(self, bytes name, bytes value, long kind)
    cpdef settle(self, bytes method, bint keep, bint old, bint upgrade)
    cpdef list header(self, bytes name)
    cpdef send(self, part)
    cpdef finish(self)
    cpdef push(self, part)
