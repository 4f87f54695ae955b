# C types of saying.py, for Cython.
from headgate.decision cimport Decision
cdef long long NEVER


cpdef bytes told(Decision decision)
