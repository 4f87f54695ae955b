# C types of tally.py, for Cython.
cimport cython
from headgate.decision cimport Decision
from headgate.rules.live.assay cimport Assay
from headgate.rules.live.top cimport Top, Tops
cdef long long PASSED
cdef long long SHADOWED
cdef long long REFUSED
cdef long long CLOSED
cdef long long ALLOWED
cdef long long DELAYED
cdef long long TURNED_AWAY
cdef long long FAILED_OPEN
cdef long long FAILED_CLOSED
cdef long long SHADOW
cdef long long NEAR
cdef long long UNITS_ALLOWED
cdef long long UNITS_REFUSED
cdef long long WAITED
cdef long long SAMPLED
cdef long long WRONG
cdef long long CELLS
cdef long long UNKNOWN


@cython.final
cdef class Tally:
    cdef object __weakref__
    cdef long long* cells
    cdef object view
    cdef readonly Tops tops
    cdef public Assay assay
    cdef readonly bint keyed
    cdef readonly bint placed
    @cython.locals(top=Top, assay=Assay)
    cpdef count(self, long long verdict, key, long long units, Decision decision, long long wait, long long now)
    @cython.locals(cells="long long*", closed=bint)
    cdef void add(self, long long verdict, long long units, Decision decision, long long wait) noexcept
    cpdef charge(self, long long units)
    @cython.locals(found="long long")
    cdef weigh(self, Assay assay, key, long long units, Decision decision, long long now)
    cdef void sum(self, long long place, long long more) noexcept
    cpdef move(self, view)
    @cython.locals(fresh="long long*", place="long long")
    cdef carry(self, view)
    cpdef leave(self)
