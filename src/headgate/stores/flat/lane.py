"""The short lane: how an interpreted limiter decides on a token bucket, in one function.

Compiled, `Table.decide` is a few C calls. Interpreted, the calls cost more than the arithmetic
they lead to, so the way that nearly all decisions go is written out once more here: one token
bucket, a key that has a row, a cost that can fit, a clock that has not gone back. All else is
left to the table. The step is the bucket's own, so there is nothing here to disagree about.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.algorithms.token_bucket import TokenBucket, step
from headgate.decision import Decision
from headgate.stores.flat.table import Table, fingerprint

Take = Callable[..., Decision]

ONE = 1
# Longer keys are not remembered: what is kept of strangers' keys must be bounded.
LONGEST = 128
# Where a key that is not known stands: at a mark that no row has.
NOWHERE = (0, -1)


def lane(table: Table, read: Callable[[], int], take: Take) -> Take | None:
    """A `take` for `table` that leaves to the given one what it cannot do; none if that is all."""
    rows = table.rows
    limit = rows.only
    if not isinstance(limit, TokenBucket) or limit.penalty or rows.cells is rows.view:
        return None
    tick, gain, scale, capacity = limit.tick, limit.gain, limit.scale, limit.capacity
    span, borrow, most, size, lasting = (
        limit.span, limit.borrow, limit.most, limit.limit, limit.lasting
    )  # fmt: skip
    cells, new = rows.cells, Decision.__new__
    known: dict[str, tuple[int, int]] = {}

    def short(key: str = "", cost: int = 1) -> Decision:
        if type(key) is not str or (cost is not ONE and not 0 < whole(cost) <= most):
            return take(key, cost)
        row, mark = known.get(key, NOWHERE)
        lock = table.lock
        lock.acquire()
        try:
            now = read()
            if cells[row] != mark or now < table.alarm or table.rows is not rows:
                return learn(key, cost)
            table.alarm = now
            wait, remaining, reset, level, stamp = step(
                now, now, cost, 0, tick, gain, scale, capacity, span, borrow,
                cells[row + 2], cells[row + 3],
            )  # fmt: skip
            if wait > 0:
                if table.anomalies > 0:
                    return take(key, cost)
            else:
                cells[row + 1] = now + reset + lasting
                cells[row + 2] = level
                cells[row + 3] = stamp
        finally:
            lock.release()
        if remaining < 0:
            remaining = 0
        decision = new(Decision)
        decision.fill(0 if wait <= 0 else 1, size, remaining, wait, reset, limit)
        return decision

    def learn(key: str, cost: int) -> Decision:
        decision = take(key, cost)
        mark = fingerprint(key)
        row = table.rows.search(mark)
        if row >= 0 and table.rows is rows and len(key) <= LONGEST:
            if len(known) >= rows.capacity:
                known.clear()
            known[key] = (row, mark)
        return decision

    return short


def whole(cost: object) -> int:
    """The cost, if it is a plain whole number; none that fits, if it is not."""
    return cost if type(cost) is int else 0
