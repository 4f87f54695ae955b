# C types of way.py, for Cython.
cimport cython
from headgate.gateway.road cimport Road
from headgate.rules.live.ferry cimport Ferry
from headgate.rules.live.turnstile cimport Turnstile


@cython.final
cdef class Way:
    cdef public object spot
    cdef public Turnstile turnstile
    cdef public Ferry ferry
    cdef public bint free
    cdef public Road road
