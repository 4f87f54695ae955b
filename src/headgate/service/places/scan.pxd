# C types of scan.py, for Cython.
cimport cython
from headgate.block cimport begin


@cython.locals(cells="long long*", found=cython.longlong, free=cython.longlong, count=cython.longlong, end=cython.longlong)
cpdef tuple scan(view, long long row, long long first, long long second, long long name, long long surname, long long now)
