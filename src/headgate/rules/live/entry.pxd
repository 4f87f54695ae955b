# C types of entry.py, for Cython.
cimport cython


@cython.final
cdef class Refusal:
    cdef readonly object kind
    cdef readonly object rule
    cdef readonly object status
    cdef readonly object retry_after
    cdef readonly object policy
    cdef readonly object cause


cdef class Pass:
    cdef readonly object ruling
    cdef readonly object lane
    cdef readonly object key
    cdef readonly object cost
    cdef readonly object decision
    cdef public object booking
    cdef void fill(self, ruling, lane, key, cost, decision, booking) noexcept


cdef class Entry:
    cdef readonly object version
    cdef readonly object request
    cdef public object passes
    cdef public object refusal
    cdef public object shadowed
    cdef public object slots
    cdef public object calls
    cdef public object places
    cdef public object bandwidth
    cdef public double waited
    cdef public bint owing
    cdef public object stocked
    cdef public object body
    cdef public bint complete
    cdef public object spare
    cdef void fill(self, version, request) noexcept
