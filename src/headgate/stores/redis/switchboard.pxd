# C types of switchboard.py, for Cython.
cimport cython
from headgate.stores.redis.line cimport Line
from headgate.stores.redis.wire cimport Question


@cython.final
cdef class Switchboard:
    cdef object __weakref__
    cdef readonly object clock
    cdef double budget
    cdef long long most
    cdef readonly dict idle
    cdef readonly dict open
    cdef long long waiting
    cdef long long era
    cdef readonly object free
    cdef readonly object finding
    @cython.locals(line=Line)
    cpdef ask(self, place, Question question, bint full, bint asking, long long deadline)
    @cython.locals(line=Line)
    cdef Line _pick(self, place, long long deadline)
    cdef Line _idle(self, tuple spot)
    cdef _lay(self, Line line)
