# C types of cabinet.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.decision cimport Decision
from headgate.stores.flat.seal cimport Seal
from headgate.stores.flat.table cimport Table


@cython.final
cdef class Cabinet:
    cdef object __weakref__
    cdef readonly tuple drawers
    cdef long long last
    cdef Seal seal
    cdef object site
    cpdef Decision take(self, key, long long cost, long long now, long long patience)
    cdef Table drawer(self, key)
    @cython.locals(mark=int64_t, drawer=Table)
    cdef Decision ask(self, key, long long cost, long long now, long long patience)
