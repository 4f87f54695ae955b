# C types of call.py, for Cython.
cimport cython
from headgate.service.grpc.head cimport Head


@cython.final
cdef class Call:
    cdef public object channel
    cdef public long long stream
    cdef public Head head
    cdef public long long room
    cdef public long long used
    cdef public long long since
    cdef public long long deadline
    cdef public object answer
    cdef public object talker
    cdef public object task
    cdef public object caller
    cdef public bytearray body
    cdef public long long held
    cdef public long long got
    cdef public bytearray backlog
    cdef public bytes tail
    cdef public bint ended
    cdef public bint opened
    cdef public bint done
    cdef public bint over
