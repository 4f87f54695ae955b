# C types of clerk.py, for Cython.
cimport cython


@cython.final
cdef class Verb:
    cdef readonly object run
    cdef readonly Py_ssize_t least
    cdef readonly Py_ssize_t most
    cdef readonly str says
    cdef readonly bint free


@cython.final
cdef class Clerk:
    cdef readonly object hall
    cdef readonly object number
    cdef readonly dict verbs
    @cython.locals(verb=Verb)
    cpdef answer(self, guest, list words)
    cdef bytes _bar(self, guest)
