# C types of window.py, for Cython. The outcomes stay Python's, because others import them.
cimport cython

cdef long long GOOD
cdef long long BAD
cdef long long LATE
cdef long long SLOW
cdef long long SPENT
cdef long long CELLS


@cython.final
cdef class Window:
    cdef readonly long long width
    cdef readonly long long buckets
    cdef long long latest
    cdef long long sums[6]
    cdef long long* cells
    cdef object view
    @cython.locals(base="long long")
    cpdef void add(self, long long outcome, long long now, long long took, long long slow) noexcept
    cpdef void gain(self, long long outcome, long long now, long long calls) noexcept
    @cython.locals(latest="long long", fresh="long long", base="long long", cell="long long")
    cpdef void turn(self, long long now) noexcept nogil
    @cython.locals(cell="long long")
    cpdef void clear(self) noexcept nogil
    cpdef long long calls(self) noexcept
    cpdef long long failed(self) noexcept
    cpdef long long slow(self) noexcept
    cpdef long long mean(self) noexcept
    @cython.locals(most="long long", count="long long", bucket="long long", first="long long")
    cpdef long long peak(self, long long run) noexcept
    @cython.locals(least="long long", bucket="long long", count="long long", mean="long long")
    cpdef long long best(self) noexcept
