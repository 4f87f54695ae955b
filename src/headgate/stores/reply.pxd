# C types of reply.py, for Cython.
cimport cython


@cython.final
cdef class Reply:
    cdef object _ledger
    cdef object _key
    cdef long long _cost
    cdef long long _now
    cdef object _arrive
    cdef bint _over
    cpdef bint done(self) except -1
    cpdef set_result(self, answer)
    cpdef set_exception(self, problem)
