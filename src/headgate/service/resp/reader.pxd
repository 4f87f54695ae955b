# C types of reader.py, for Cython.
cimport cython
cdef long long LONGEST
cdef long long WORDS
cdef long long DIGITS
cdef long STAR
cdef long DOLLAR
cdef long MINUS
cdef long ZERO
cdef long NINE
cdef long RETURN
cdef long LINE


@cython.final
cdef class Reader:
    cdef bytes data
    cdef Py_ssize_t at
    cdef list words
    cdef long long left
    cdef long long size
    cdef long long weight
    cpdef feed(self, data)
    @cython.locals(data=bytes, count=cython.longlong, words=list)
    cpdef list take(self)
    @cython.locals(data=bytes, size=cython.longlong, start=cython.Py_ssize_t, end=cython.Py_ssize_t)
    cdef bint word(self) except -1
    @cython.locals(data=bytes, start=cython.Py_ssize_t, last=cython.Py_ssize_t, place=cython.Py_ssize_t, begin=cython.Py_ssize_t, found=cython.longlong, below=cython.bint)
    cdef Py_ssize_t number(self, long long most, str wrong, str lengthy) except -9
    cdef list line(self)
