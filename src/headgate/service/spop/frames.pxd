# C types of frames.py, for Cython.
cimport cython
cdef int LEAST
cdef int MESSAGES
cdef int LONG
cdef list SHORT
cdef unsigned long long TOP


@cython.final
cdef class Tape:
    cdef readonly bytes data
    cdef readonly Py_ssize_t at
    cdef readonly Py_ssize_t end
    @cython.locals(at=cython.Py_ssize_t)
    cpdef int byte(self) except -1
    @cython.locals(found=cython.ulonglong, part=cython.ulonglong, shift=cython.int)
    cpdef unsigned long long number(self) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(size=cython.ulonglong)
    cpdef bytes word(self)
    @cython.locals(said=cython.int, kind=cython.int)
    cpdef value(self)
    @cython.locals(at=cython.Py_ssize_t)
    cpdef bytes cut(self, Py_ssize_t size)


@cython.locals(size=cython.ulonglong, place=cython.Py_ssize_t)
cpdef Py_ssize_t reach(bytes data, Py_ssize_t at, long long most) except -1
@cython.locals(kind=cython.int, flags=bytes, at=cython.Py_ssize_t)
cpdef tuple head(Tape tape)
@cython.locals(found=dict, name=str)
cpdef dict terms(Tape tape)
@cython.locals(found=list, said=dict, count=cython.int, name=str)
cpdef list messages(Tape tape)
@cython.locals(found=bytearray)
cpdef bytes varint(unsigned long long number)
cpdef bytes word(bytes text)
cpdef bytes frame(int kind, bytes mark, bytes payload)
