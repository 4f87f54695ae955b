# C types of wheel.py, for Cython.
cimport cython
cdef long CROWD
cdef long GOES
cdef long COMES


cdef class Spoke:
    cdef bint due
    cdef int number
    cdef draw(self)
    cdef flush(self, bint more=*)
    cpdef abort(self)
    cdef blame(self, problem)


@cython.final
cdef class Wheel:
    cdef object loop
    cdef object epoll
    cdef int number
    cdef bytearray basin
    cdef int spout
    cdef int funnel
    cdef bytearray page
    cdef list spokes
    cdef list due
    cdef bint turning
    cdef bint planned
    @cython.locals(count=cython.int, place=cython.Py_ssize_t)
    cpdef turn(self)
    @cython.locals(spoke=Spoke)
    cdef stir(self, int number, int signs)
    @cython.locals(spoke=Spoke, due=list, place=cython.Py_ssize_t)
    cpdef settle(self)
    cdef remind(self, Spoke spoke)
    cdef enter(self, Spoke spoke)
