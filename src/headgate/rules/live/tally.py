"""Tallies: what became of the requests that each rule met.

Each decision is counted by one call, whoever made it. That is done for every request, so it is
compiled, and touches one line of memory and what is known of the key.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headgate.decision import Decision
from headgate.latch import Latch
from headgate.rules.live.assay import Assay
from headgate.rules.live.entry import Entry
from headgate.rules.live.top import Tops

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

# What can become of a request: it goes in, it only does because the rule is tried out, the rule
# refuses it, or does because the store cannot be asked.
LET_IN, TRIED, TURNED, SHUT = range(4)
# What is counted, each in a cell of its own; what became of a request, in one of five. Another
# process reads in this order, and who is let in as a rule is tried out is first counted as allowed:
# so it never finds more of the former.
NAMES = (
    "shadowed", "allowed", "delayed", "refused", "failed_open", "failed_closed",
    "near", "units_allowed", "units_refused", "waited", "sampled", "wrong",
)  # fmt: skip
# As C numbers when compiled; the above stay Python's, because others import them.
PASSED, SHADOWED, REFUSED, CLOSED = 0, 1, 2, 3
SHADOW, ALLOWED, DELAYED, TURNED_AWAY, FAILED_OPEN, FAILED_CLOSED = 0, 1, 2, 3, 4, 5
NEAR, UNITS_ALLOWED, UNITS_REFUSED, WAITED, SAMPLED, WRONG = 6, 7, 8, 9, 10, 11
CELLS = 12
# As `Decision.why` has it.
UNKNOWN = 3
MILLION = 1_000_000

# Interpreted, all count one at a time.
LATCH = Latch()


class Tally:
    """How many requests a rule let in, refused, and would have refused were it enforced.

    What it counts lies in `cells`, which may be moved to where others can read it. `tops` are those
    who ask most, and are refused most; with `keyed` false, nothing is known of single keys.
    """

    __slots__ = ("assay", "cells", "keyed", "placed", "tops", "view")

    cells: Any
    view: Any
    tops: Tops
    assay: Assay | None
    keyed: bool
    placed: bool

    def __init__(self, keyed: bool = True) -> None:
        self.keyed = keyed
        self.tops = Tops()
        self.assay = None
        self.leave()

    def count(
        self, verdict: int, key: str, units: int, decision: Decision | None, wait: int, now: int
    ) -> None:
        """Count what became of a request of that key, for which so many units were asked.

        `decision` is the limit's, if one was asked; who was let in waits for so many microseconds.
        """
        if cython.compiled:
            with cython.critical_section(self):
                self.add(verdict, units, decision, wait)
        else:
            with LATCH:
                self.add(verdict, units, decision, wait)
        if self.keyed:
            top = self.tops.passed if verdict == PASSED else self.tops.refused
            top.note(key)
        assay = self.assay
        if assay is not None and decision is not None and not decision.degraded:
            self.weigh(assay, key, units, decision, now + wait)

    def add(self, verdict: int, units: int, decision: Decision | None, wait: int) -> None:
        cells = self.cells
        if verdict >= REFUSED:
            closed = verdict == CLOSED or (decision is not None and decision.why == UNKNOWN)
            cells[FAILED_CLOSED if closed else TURNED_AWAY] += 1
            cells[UNITS_REFUSED] += units
        else:
            cells[UNITS_ALLOWED] += units
            if verdict != SHADOWED and decision is not None and decision.degraded:
                cells[FAILED_OPEN] += 1
            elif wait > 0:
                cells[DELAYED] += 1
                cells[WAITED] += wait
            else:
                cells[ALLOWED] += 1
            if verdict == SHADOWED:
                cells[SHADOW] += 1
            elif decision is not None and decision.remaining * 5 < decision.limit:
                cells[NEAR] += 1

    def charge(self, units: int) -> None:
        """Count what a request has cost, which was known only when it was answered."""
        self.sum(UNITS_ALLOWED, units)

    def weigh(self, assay: Assay, key: str, units: int, decision: Decision, now: int) -> None:
        # See whether a refusal was right, if the key is one of those of which that is known.
        found = assay.weigh(key, units, now, decision.allowed)
        if found > 0:
            self.sum(SAMPLED, 1)
            self.sum(WRONG, found - 1)

    def sum(self, place: int, more: int) -> None:
        if cython.compiled:
            with cython.critical_section(self):
                self.cells[place] += more
        else:
            with LATCH:
                self.cells[place] += more

    def move(self, view: Any) -> None:
        """Count in that block from now on; what was counted is added to what stands there."""
        if cython.compiled:
            with cython.critical_section(self):
                self.carry(view)
        else:
            with LATCH:
                self.carry(view)

    def carry(self, view: Any) -> None:
        old, fresh = self.view, begin(view) if cython.compiled else view
        for place in range(CELLS):
            fresh[place] += old[place]
        self.cells = fresh
        self.view = view
        self.placed = True

    def leave(self) -> None:
        """Begin anew, in cells of its own."""
        view = array("q", bytes(8 * CELLS))
        self.cells = begin(view) if cython.compiled else view
        self.view = view
        self.placed = False

    def read(self) -> list[int]:
        """What was counted, in the order of the cells."""
        return [*self.view[:CELLS]]

    @property
    def passed(self) -> int:
        """How many it let in."""
        view = self.view
        return view[ALLOWED] + view[DELAYED] + view[FAILED_OPEN]  # type: ignore[no-any-return]

    @property
    def refused(self) -> int:
        """How many it refused."""
        view = self.view
        return view[TURNED_AWAY] + view[FAILED_CLOSED]  # type: ignore[no-any-return]

    @property
    def shadowed(self) -> int:
        """How many it let in only because it is tried out."""
        return self.view[SHADOW]  # type: ignore[no-any-return]

    @property
    def share(self) -> float:
        """The share that was refused of all it was asked about."""
        refused = self.refused
        return refused / (self.passed + refused) if refused else 0.0

    def __repr__(self) -> str:
        return f"Tally(passed={self.passed}, refused={self.refused}, shadowed={self.shadowed})"


def count(entry: Entry, rulings: Sequence[Any], now: int, waits: bool = False) -> None:
    """Count what became of a request with every rule that had a say in it; whether it waited."""
    shadowed = {rule.name for rule in entry.shadowed}
    passes = {one.ruling: one for one in entry.passes}
    refusal, shut = entry.refusal, False
    for ruling in rulings:
        one = passes.get(ruling)
        if shut and one is None and ruling.name not in shadowed:
            # Nobody asked it any more.
            continue
        key, units, decision = (
            (one.key, one.cost, one.decision)
            if one is not None
            else (known(ruling, entry), 1, None)
        )
        if refusal is not None and refusal.rule is ruling.rule:
            shut = True
            verdict = CLOSED if refusal.kind == "unavailable" else REFUSED
            # Where the limit let it in, it was not the limit that refused.
            asked = decision if decision is None or not decision.allowed else None
            ruling.tally.count(verdict, key, units, asked, 0, now)
            continue
        # What was taken for a request that is refused by others is given back, and what it costs
        # may be known only when it is answered.
        spent = units if refusal is None and not ruling.fee.pends(entry.request) else 0
        verdict = SHADOWED if ruling.name in shadowed else PASSED
        ruling.tally.count(verdict, key, spent, decision, waited(one) if waits else 0, now)


def waited(one: Any) -> int:
    """How long a rule had a request wait."""
    if one is None or one.booking is None or not one.decision:
        return 0
    wait: float = one.decision.retry_after
    return round(wait * MILLION)


def known(ruling: Any, entry: Entry) -> str:
    """The key under which a rule would count a request; what is long is noted by its digest."""
    return "" if ruling.key is None else str(ruling.key(entry.request))
