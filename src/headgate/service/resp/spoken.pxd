# C types of spoken.py, for Cython.
from headgate.decision cimport Decision
cdef long long ALLOWED
cdef long long NEVER
cdef list REASON
cpdef bytes decided(Decision decision)
cpdef bytes celled(Decision decision)
cpdef bytes crabbed(Decision decision, long long enough)
cpdef bytes verdict(Decision decision, long long number, long long units)
cdef long long rounded(long long span)
