"""Order: hits in the order of time, whatever the order of their lines.

A server writes a line when a request is over, or from several workers at once, so a log goes back
in time a little all the time. Lines are held back until one is newer by `slack`; until then, those
that come earlier find their place before them. What is later than that cannot be put in order any
more: it counts as if it had come when the latest before it did, and is counted.

Several logs are woven into one, as far as all of them are known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from headgate.replay.hits import Hit
from headgate.replay.lines import Lines
from headgate.replay.sources import Source

MOMENT = attrgetter("at")
# Sorting is put off until so many lines have come, or half as many as are held.
WORTH = 8192
NOTHING: list[Hit] = []


class Order:
    """The hits of one log in order: `batches`, each of which begins where the last one ended."""

    def __init__(self, source: Source, lines: Lines, blocks: Iterator[bytes], slack: int) -> None:
        self.source = source
        self.lines = lines
        self.late = 0
        self.moved = False
        self._blocks = blocks
        self._slack = slack
        self._edge = -1

    def batches(self) -> Iterator[list[Hit]]:
        """Its hits, in lists."""
        held: list[Hit] = []
        fresh = 0
        for block in self._blocks:
            hits = self.lines.feed(block)
            held += hits
            fresh += len(hits)
            if fresh > max(WORTH, len(held) // 2):
                fresh = 0
                batch, held = self._release(held, self.lines.newest - self._slack)
                if batch:
                    yield batch
        held += self.lines.close()
        batch, _ = self._release(held, self.lines.newest)
        if batch:
            yield batch

    def _release(self, held: list[Hit], until: int) -> tuple[list[Hit], list[Hit]]:
        if self.lines.disordered:
            self.moved = True
            self.lines.disordered = False
            held.sort(key=MOMENT)
            self._delay(held)
        count = bisect_right(held, until, key=MOMENT)
        batch = held[:count]
        if batch:
            self._edge = batch[-1].at
        return batch, held[count:]

    def _delay(self, held: list[Hit]) -> None:
        for hit in held:
            if hit.at >= self._edge:
                return
            hit.at = self._edge
            self.late += 1


def woven(orders: list[Order]) -> Iterator[list[Hit]]:
    """The hits of several logs as those of one."""
    if len(orders) == 1:
        yield from orders[0].batches()
        return
    running = [(one, next(one, NOTHING)) for one in [order.batches() for order in orders]]
    known = [(batches, batch) for batches, batch in running if batch]
    while known:
        # Up to where the first of them ends, all is known.
        edge = min(batch[-1].at for _, batch in known)
        found: list[Hit] = []
        left = []
        for batches, batch in known:
            count = bisect_right(batch, edge, key=MOMENT)
            found += batch[:count]
            rest = batch[count:] or next(batches, NOTHING)
            if rest:
                left.append((batches, rest))
        found.sort(key=MOMENT)
        yield found
        known = left
