# C types of pipe.py, for Cython.
cimport cython
from headgate.wire.ear cimport Ear
from headgate.wire.wheel cimport Spoke, Wheel
cdef long LARGE
cdef long GATHERED
cdef long COMES
cdef long GOES
cdef long AGAIN
cdef long BASIN
cdef long TANK


cdef class Pipe(Spoke):
    cdef Wheel wheel
    cdef object line
    cdef object protocol
    cdef Ear ear
    cdef list parts
    cdef Py_ssize_t waiting
    cdef int signs
    cdef Py_ssize_t high
    cdef Py_ssize_t sip
    cdef Py_ssize_t left
    cdef Pipe sink
    cdef bint clogged
    cdef bint ending
    cdef bint shut
    cdef bint gone
    cdef watch(self, int signs)
    @cython.locals(basin=bytearray, size=cython.Py_ssize_t)
    cdef draw(self)
    cdef stop(self, Py_ssize_t code)
    cpdef bint quiet(self) except -1
    cpdef siphon(self, Pipe sink, Py_ssize_t size)
    @cython.locals(size=cython.Py_ssize_t)
    cdef drain(self, Pipe sink)
    @cython.locals(sent=cython.Py_ssize_t)
    cdef suck(self, Py_ssize_t size)
    cpdef write(self, data)
    cpdef writelines(self, list parts)
    @cython.locals(sent=cython.Py_ssize_t)
    cdef flush(self, bint more=*)
    cdef trim(self, Py_ssize_t sent)
    cdef swell(self)
    cdef ease(self)
    cdef empty(self)
    cpdef close(self)
    cpdef abort(self)
    cdef leave(self, problem)
    cdef blame(self, problem)
    cpdef pause_reading(self)
    cpdef resume_reading(self)
    cpdef get_write_buffer_size(self)
