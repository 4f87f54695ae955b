# C types of breaker.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.breakers.circuit cimport Circuit, Settings
from headgate.clock cimport SystemClock


cdef long long GOOD
cdef long long BAD
cdef long long NOTHING
cdef long long NEVER

cdef class Call


@cython.final
cdef class Breaker:
    cdef object __weakref__
    cdef readonly Settings settings
    cdef readonly object judge
    cdef readonly object wrong
    cdef readonly object name
    cdef readonly object clock
    cdef SystemClock system
    cdef object luck
    cdef readonly tuple listeners
    cdef Circuit main
    cdef readonly dict circuits
    cpdef Circuit circuit(self, key)
    @cython.locals(call=Call)
    cdef Call call(self, Circuit circuit)
    cpdef int64_t time(self) except? -1


@cython.final
cdef class Door:
    cdef Breaker _breaker
    cdef Circuit _circuit
    cdef object _name
    @cython.locals(circuit=Circuit, call=Call)
    cpdef Call enter(self, object args, object kwargs)


@cython.final
cdef class Call:
    cdef Breaker _breaker
    cdef Circuit _circuit
    cdef long long _start
    cdef long long _stop
    cdef long long _ticket
    cdef long long _outcome
    cpdef Call prepare(self, Breaker breaker, Circuit circuit)
    cpdef object judge(self, object result)
    cpdef object begin(self)
    @cython.locals(now="long long", took="long long")
    cpdef object end(self)
    cpdef object raised(self, object problem)
    @cython.locals(wait="long long")
    cpdef object refusal(self)
