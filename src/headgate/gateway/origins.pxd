# C types of origins.py, for Cython.
cimport cython
from headgate.wire.exchange cimport Exchange
from headgate.wire.inlet cimport Inlet


@cython.locals(said=bytes, proto=bytes)
cpdef introduce(Inlet inlet, manners)
@cython.locals(inlet=Inlet, told=dict, said=bytes, here=bytes, proto=bytes, host=bytes, first=bytes, before=bytes)
cpdef bytes relay(Exchange exchange, manners)
@cython.locals(told=dict, lowered=bytes, name=bytes, value=bytes)
cdef dict hearsay(Exchange exchange)
cdef bytes after(bytes before, bytes last)
cdef bytes peer(Inlet inlet)
cdef bytes node(bytes address)
