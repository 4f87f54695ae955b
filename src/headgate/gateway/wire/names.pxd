# C types of names.py, for Cython.
cdef dict KNOWN
cpdef long meaning(bytes name) except -1
cpdef list untied(list said, bytes ties)
