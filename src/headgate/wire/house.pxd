# C types of house.py, for Cython.
cimport cython
from headgate.wire.scroll cimport Scroll


@cython.final
cdef class House:
    cdef public Scroll scroll
    cdef public long long now
    cdef public long long head
    cdef public long long lines
    cdef public long long body
    cdef public long long requests
    cdef public long long until_head
    cdef public long long until_body
    cdef public long long until_idle
    cdef public long long until_sent
    cdef public long long until_closed
