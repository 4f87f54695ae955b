# C types of table.py, for Cython.
cimport cython
from libc.stdint cimport int64_t
from headgate.algorithms.limit cimport Reply, Limit
from headgate.clock cimport SystemClock
from headgate.decision cimport Decision
from headgate.stores.flat.council cimport Council
from headgate.stores.flat.desk cimport Desk
from headgate.stores.flat.gate cimport Gate
from headgate.stores.flat.memo cimport Memo
from headgate.stores.flat.rows cimport Rows
from headgate.stores.flat.seal cimport Seal

cdef long long SLACK
cdef long long FOREVER
cpdef int64_t fingerprint(key) except? -1


@cython.final
cdef class Table:
    cdef object __weakref__
    cdef readonly Rows rows
    cdef long long alarm
    cdef long long latest
    cdef SystemClock clock
    cdef readonly long long anomalies
    cdef object lock
    cdef long long calendar
    cdef Council council
    cdef Gate gate
    cdef Seal seal
    @cython.locals(units="long long", moment="long long")
    cpdef Decision take(self, key, long long cost, long long now, long long patience)
    @cython.locals(decision=Decision, memo=Memo, rows=Rows)
    cpdef tuple book(self, key, long long cost, long long now, long long patience)
    cpdef release(self, key, long long cost, long long now, long long due, Memo memo)
    cdef int64_t mark(self, key) except? -1
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef list copied(self, long long mark)
    cpdef list stand(self, key, long long now)
    @cython.locals(limit=Limit, rows=Rows, decision=Decision, number="long long", start="long long", row="long long", remaining="long long", reset="long long", wait="long long", a="long long", b="long long", c="long long")
    cdef list each(self, long long mark, long long now)
    cdef int register(self, Memo memo, Decision decision, long long mark, long long cost, long long now, long long patience, long long spend) except -1
    @cython.locals(decision=Decision)
    cdef Decision ask(self, long long mark, long long cost, long long now, long long patience, long long spend)
    @cython.locals(limit=Limit, rows=Rows)
    cdef void visit(self, Decision decision, long long mark, long long cost, long long now, long long patience, long long spend) noexcept
    @cython.locals(limit=Limit, rows=Rows)
    cdef void decide(self, Decision decision, long long mark, long long cost, long long now, long long patience, long long spend) noexcept
    @cython.locals(limit=Limit, council=Council)
    cdef void several(self, Decision decision, long long row, long long cost, long long now, long long patience, long long spend) noexcept
    @cython.locals(limit=Limit, rows=Rows)
    cdef void spend(self, long long mark, long long cost, long long now, long long due) noexcept
    cdef void never(self, Decision decision, Limit limit, long long start, long long now) noexcept
    @cython.locals(limit=Limit, desk=Desk)
    cdef void mind(self, long long now) noexcept
    cdef long long lift(self, long long now) noexcept
    @cython.locals(desk=Desk)
    cpdef long long moment(self) noexcept
    cdef void follow(self, Table new) noexcept
    @cython.locals(old=Rows)
    cdef void move(self, Table new, long long now, long long rows, long long scaled, long long alike) noexcept
    @cython.locals(old=Rows, before=Limit, after=Limit)
    cdef void copy(self, long long row, Rows rows, long long fresh, long long now, long long scaled, long long alike) noexcept
    cdef void carry(self, Limit before, long long start, Rows rows, Limit after, long long place, long long now, long long scaled) noexcept
