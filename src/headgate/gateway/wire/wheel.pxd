# C types of wheel.py, for Cython.
cimport cython
cdef long CROWD
cdef long GOES


cdef class Spoke:
    cdef bint due
    cdef int number
    cdef draw(self)
    cdef flush(self)
    cpdef abort(self)
    cdef blame(self, problem)


@cython.final
cdef class Wheel:
    cdef object loop
    cdef object epoll
    cdef int number
    cdef bytearray basin
    cdef bytearray page
    cdef list spokes
    cdef list due
    cdef bint turning
    @cython.locals(count=cython.int, place=cython.Py_ssize_t)
    cpdef turn(self)
    @cython.locals(spoke=Spoke)
    cdef stir(self, int number, int signs)
    @cython.locals(spoke=Spoke, due=list, place=cython.Py_ssize_t)
    cdef settle(self)
    cdef enter(self, Spoke spoke)
