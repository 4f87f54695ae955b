# C types of desk.py, for Cython.
cimport cython

cdef long long MARK
cdef long long MOMENT
cdef long long ANOMALIES
cdef long long EVICTED
cdef long long CROWDED
cdef long long RECOVERED
cdef long long COPY
cdef long long SLACK


@cython.final
cdef class Desk:
    cdef long long base
    cdef long long stride
    cdef long long* cells
    cdef object view
    cdef void note(self, long long row) noexcept nogil
    cdef void done(self) noexcept nogil
    cdef void undo(self) noexcept nogil
    cdef long long* mutex(self) noexcept nogil
    cdef long long marked(self) noexcept nogil
    cdef long long heed(self, long long now) noexcept nogil
    cdef long long moment(self) noexcept nogil
    cdef void evict(self) noexcept nogil
    cdef void crowd(self) noexcept nogil
