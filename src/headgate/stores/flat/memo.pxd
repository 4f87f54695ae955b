# C types of memo.py, for Cython.
cimport cython
from headgate.stores.flat.rows cimport Rows


@cython.final
cdef class Memo:
    cdef list before
    cdef list after
    cdef long long length
    @cython.locals(row="long long", cell="long long")
    cdef int jot(self, Rows rows, long long mark, list paper) except -1
    @cython.locals(row="long long", cell="long long", kept="long long")
    cdef bint undo(self, Rows rows, long long mark) except -1
