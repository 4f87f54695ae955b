# C types of demand.py, for Cython.
cimport cython
cdef long long WINDOWS
cdef tuple WIDTHS
cdef long long MOST_RATES
cdef long long LONGEST


@cython.final
cdef class Demand:
    cdef readonly long long asked
    cdef readonly long long last
    cdef long long windows[4]
    cdef long long counts[4]
    cdef long long most[4]
    cdef long long levels[24]
    cdef long long peaks[24]
    cdef begin(self)


@cython.final
cdef class Demands:
    cdef long long rates[24]
    cdef readonly long long period
    cdef readonly long long count
    cdef readonly long long kept
    cdef readonly long long mask
    cdef readonly long long asked
    cdef readonly long long skipped
    cdef readonly dict keys
    cdef readonly list depths
    @cython.locals(demand=Demand)
    cpdef add(self, key, long long at)
    @cython.locals(gone="long long", number="long long", level="long long")
    cdef fill(self, Demand demand, long long at)
    @cython.locals(depth="long long", depths=list)
    cdef sink(self, long long number, long long level)
    @cython.locals(number="long long", window="long long", width="long long")
    cdef tell(self, Demand demand, long long at)
    cpdef thin(self)
