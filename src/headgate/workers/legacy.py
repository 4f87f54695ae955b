"""Legacy: what workers count that lies on no board, and does not go back when one of them ends.

A reading says what a process has counted since it began. What it gained since the one before is
added up by its slot, so that whoever takes a place goes on where the one before was seen last, and
nobody is missed who does not answer for once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from headgate.rules.live.tally import NAMES
from headgate.telemetry.board import Board
from headgate.telemetry.counters import ROUTE, RULE, STORE
from headgate.telemetry.reading import Reading, WorkerReading
from headgate.telemetry.union import recount

# Where a number stands in a reading.
Place = tuple[Any, ...]
# Of these the most that one worker has counted is told: all of them count the same.
SAME = "reload"
# These are there from the beginning, as long as the rules name them.
NAMED = ("upstreams", "rules", "routes")


class Legacy:
    """What all have counted who stand at the posts of a crew, or have stood there."""

    def __init__(self) -> None:
        # By slot: who was seen there last and when, what it had counted, and what all there have.
        self._seen: dict[int, tuple[int, float]] = {}
        self._last: dict[int, dict[Place, float]] = {}
        self._sums: dict[int, dict[Place, float]] = {}

    def amend(
        self, one: Reading, found: Sequence[tuple[WorkerReading, Any]], board: Board | None
    ) -> Reading:
        """What was found in all workers, as one, with what those have counted who are gone."""
        cells = {} if board is None else board.read()
        for card, reading in found:
            if reading:
                self.note(card, reading, cells)
        self.tell(one)
        recount(one, cells)
        return one

    def note(self, card: WorkerReading, reading: Any, cells: Collection[str]) -> None:
        """Take note of what a worker says; what lies in `cells` is kept there."""
        slot, now = card["slot"], (card["pid"], reading["at"])
        before = self._seen.get(slot, (0, 0.0))
        same = now[0] == before[0]
        if same and now[1] < before[1]:
            # Somebody who asked later was answered sooner.
            return
        last = self._last.get(slot, {}) if same else {}
        sums = self._sums.setdefault(slot, {})
        found = dict(counters(reading, cells))
        for place, value in found.items():
            known = last.get(place, 0)
            # Less than before has begun anew, as with other rules or another store.
            sums[place] = sums.get(place, 0) + (value - known if value >= known else value)
        for place in [one for one in sums if one[0] in NAMED and one not in found]:
            # Strangers may have servers come and go: who is gone is not remembered for ever.
            del sums[place]
        self._seen[slot], self._last[slot] = now, found

    def tell(self, reading: Reading) -> None:
        """Say what was counted by all of them, of what the reading has a place for."""
        url = reading["store"]["url"]
        found: dict[Place, float] = {}
        for sums in self._sums.values():
            for place, value in sums.items():
                most = place[0] == SAME
                known = found.get(place, 0)
                found[place] = max(known, value) if most else known + value
        for place, value in found.items():
            if place[0] != "store":
                put(reading, place, value)
            elif place[1] == url:
                put(reading, ("store", *place[2:]), value)


def counters(reading: Any, cells: Collection[str]) -> Iterator[tuple[Place, float]]:
    """The numbers of one worker that only grow, each with its place."""
    yield from leaves((SAME,), {word: reading[SAME][word] for word in ("loads", "failures")})
    store = reading["store"]
    told = {word: store[word] for word in ("errors", "degraded_seconds")}
    if store["kind"] == "memory":
        told["evicted"] = store["evicted"]
    yield from leaves(("store", store["url"]), told)
    for group, servers in reading["upstreams"].items():
        for server, one in servers.items():
            for word in ("requests", "failures"):
                yield ("upstreams", group, server, word), one[word]
    yield from leaves(("budget",), reading["budget"])
    for name, one in reading["rules"].items():
        if RULE + name not in cells:
            yield from leaves(("rules", name), {word: one[word] for word in NAMES})
    for name, one in reading["routes"].items():
        if ROUTE + name not in cells:
            yield from leaves(("routes", name), {**one, "latency": timed(one["latency"])})
    if STORE not in cells:
        yield from leaves(("checks",), timed(reading["checks"]))


def timed(histogram: Any) -> dict[str, Any]:
    """What grows of a histogram."""
    return {word: histogram[word] for word in ("counts", "sum")}


def leaves(place: Place, value: Any) -> Iterator[tuple[Place, float]]:
    """All numbers beneath a place."""
    if isinstance(value, dict):
        for word, one in value.items():
            yield from leaves((*place, word), one)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from leaves((*place, number), one)
    elif value is not None:
        yield place, value


def put(reading: Any, place: Place, value: float) -> None:
    """Set the number at a place, if there is such a place."""
    *way, last = place
    for word in way:
        if word not in reading or reading[word] is None:
            return
        reading = reading[word]
    if isinstance(reading, list) or last in reading or way[-1:] == ["errors"]:
        reading[last] = value
