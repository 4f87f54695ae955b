# C types of reader.py, for Cython.
cimport cython
from headgate.wire.ear cimport Ear
from headgate.wire.voice cimport Voice
cdef dict METHODS
cdef long TURNED
cdef long BEGIN
cdef long URL
cdef long NAME
cdef long VALUE
cdef long HEADED
cdef long BODY
cdef long LARGE


@cython.final
cdef class Reader:
    cdef readonly Ear ear
    cdef readonly long kind
    cdef bint asks
    cdef bint direct
    cdef Voice *voice
    cdef public object parser
    cdef bytes name
    cdef bytes value
    cdef bint valued
    cdef public bint keeps
    cdef public bint turns
    cdef public long status
    cdef public long version
    cdef public bytes method
    cpdef renew(self)
    cpdef long feed(self, data) except -9
    @cython.locals(end=cython.int, number=cython.Py_ssize_t)
    cdef long listen(self, data) except -9
    @cython.locals(said=cython.int, part=bytes)
    cdef int tell(self, Py_ssize_t number, data) except -1
    cdef spell(self, bytes part)
    @cython.locals(called=bytes, value=bytes)
    cdef head(self)
    @cython.locals(start=cython.Py_ssize_t)
    cdef pass_on(self, Py_ssize_t number, data)
    @cython.locals(number=cython.int)
    cdef crown(self, long told, long flags)
