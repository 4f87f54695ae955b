# C types of reception.py, for Cython.
cimport cython
from headgate.adapters.http.herald cimport Herald
from headgate.decision cimport Decision
from headgate.rules.live.entry cimport Entry, Pass
from headgate.service.http.patron cimport Patron
from headgate.service.http.saying cimport told
from headgate.wire.exchange cimport Exchange
from headgate.wire.house cimport House
from headgate.wire.scroll cimport Scroll
cdef long BODY
cdef long WAITING
cdef long long CHUNKED
cdef long long HEAVIEST
cdef long long LONGEST
cdef long long MILLION
cdef long long UNKNOWN


@cython.final
cdef class Reception:
    cdef object __weakref__
    cdef public object hall
    cdef public House house
    cdef Scroll scroll
    cdef object clock
    cdef public object scheme
    cdef public object caller
    cdef public set paused
    cdef public bytes hearsay
    cdef public bytes private
    cdef object book
    cdef Herald herald
    cdef public object clerk
    cpdef admit(self, Exchange exchange)
    @cython.locals(inlet=Patron)
    cpdef complete(self, Exchange exchange)
    cpdef attend(self, Exchange exchange)
    @cython.locals(rule=str, key=str, plan=str)
    cdef bint take(self, Exchange exchange) except -1
    @cython.locals(fields=list, body=bytes, wait=cython.longlong, status=cython.long)
    cpdef tuple declare(self, str rule, str key, str plan, Decision decision, bint count)
    @cython.locals(entry=Entry, herald=Herald)
    cpdef list standing(self, str rule, str key, str plan, Decision decision)
    cpdef note(self, Decision decision)
    @cython.locals(scroll=Scroll, inlet=Patron)
    cpdef reply(self, Exchange exchange, long status, list fields, bytes body)
    @cython.locals(inlet=Patron)
    cpdef expect(self, Exchange exchange)


@cython.locals(said=dict, text=str, end=cython.Py_ssize_t, known=cython.long, words=cython.long)
cdef tuple plain(Exchange exchange)
@cython.locals(said=list, name=bytes, place=cython.Py_ssize_t)
cdef bint typed(Exchange exchange) except -1
