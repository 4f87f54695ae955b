# C types of names.py, for Cython.
cimport cython
cdef dict KNOWN
cdef long LARGEST
cpdef long meaning(bytes name) except -1
@cython.locals(total="long long", digit="unsigned char")
cpdef long long amount(bytes value) except -1
cdef long long trimmed(bytes value) except -1
cpdef list untied(list said, bytes ties)
