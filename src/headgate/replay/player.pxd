# C types of player.py, for Cython.
cimport cython
from headgate.replay.dial cimport Dial
from headgate.replay.hits cimport Hit, Spot
from headgate.replay.score cimport Score
from headgate.rules.live.entry cimport Entry, Refusal
from headgate.rules.live.turnstile cimport Turnstile
cdef long long ALLOWED
cdef long long REFUSED
cdef long long REMEMBERED
cdef long long FOREVER


@cython.final
cdef class Way:
    cdef Turnstile turnstile
    cdef Score score
    cdef bint free


@cython.final
cdef class Player:
    cdef readonly object rules
    cdef readonly long long number
    cdef object told
    cdef readonly Dial clock
    cdef readonly object bench
    cdef readonly object book
    cdef object finder
    cdef bint plain
    cdef dict clients
    cdef object detour
    cdef public long long open
    cdef public long long free
    cdef public long long unseen
    cdef readonly Score total
    cdef readonly dict scores
    @cython.locals(each=Hit)
    cpdef play(self, list hits)
    @cython.locals(way=Way)
    cpdef decide(self, Hit hit)
    @cython.locals(turnstile=Turnstile, entry=Entry)
    cdef walk(self, Way way, Hit hit)
    @cython.locals(refusal=Refusal, kinds=dict, known="long long")
    cdef judge(self, Score score, Hit hit, key, Entry entry)
    cpdef settle(self, Hit hit, rule, key, long long outcome)
    cdef Way meet(self, Spot spot)
    cpdef client(self, Hit hit)
    cpdef request(self, Hit hit)
    cdef key(self, Entry entry, request)
    cpdef widen(self, Score score, long long known)
