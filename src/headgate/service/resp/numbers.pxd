# C types of numbers.py, for Cython.
cpdef long long whole(bytes word, long long least, long long most, str what=*) except? -9
cpdef bytes brief(bytes key)
