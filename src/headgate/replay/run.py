"""Runs: logs played to a rule file, or to two, from the first line to the report."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from headgate.replay.contrast import Contrast
from headgate.replay.detect import Format, detect
from headgate.replay.fit import fit, wanted
from headgate.replay.hits import Hit
from headgate.replay.lines import Lines
from headgate.replay.order import MOMENT, Order, woven
from headgate.replay.player import Player
from headgate.replay.report import Side, stamp, told
from headgate.replay.sources import Source
from headgate.rules.model.rules import Rules

SECOND = 1_000_000
SPREAD = (
    "stamps are whole seconds: what came within one is taken as one burst, so limits whose burst "
    "is smaller than a second's traffic refuse more here than they would; try --spread"
)
# Bytes and lines so far, and bytes in all; 0 if that is not known.
Progress = Callable[[int, int, int], object]


class Terms(NamedTuple):
    """How a log is to be read and played."""

    form: str = ""
    # Lines may be so many seconds late.
    slack: float = 60.0
    # Whether what has one stamp of a whole second is spread over it.
    spread: bool = False
    enforce: bool = False
    top: int = 20


class Log:
    """One log that is about to be read: its format is known, and its first bytes have been read."""

    def __init__(self, name: str, form: str) -> None:
        self.source = Source(name)
        blocks = self.source.blocks()
        first, lines = b"", 0
        # A slow pipe may give a line at a time.
        while lines < 2 and len(first) < 1 << 16:
            block = next(blocks, b"")
            if not block:
                break
            first += block
            lines = first.count(b"\n")
        try:
            self.format: Format = detect(first[: 1 << 18].split(b"\n"), form)
        except ValueError as problem:
            raise ValueError(f"{self.source.title}: {problem}") from None
        self.blocks = itertools.chain([first], blocks)


def opened(names: Sequence[str], form: str) -> list[Log]:
    """The logs of these names; raises OSError or ValueError if one cannot be read."""
    return [Log(name, form) for name in names]


def common(logs: list[Log]) -> Format:
    """What all of the logs tell."""
    first, *others = [log.format for log in logs]
    told, headers, heads = set(first.told), set(first.headers), first.heads
    for form in others:
        told &= set(form.told)
        headers &= set(form.headers)
        heads = heads and form.heads
    labels = dict.fromkeys(log.format.label for log in logs)
    return Format(", ".join(labels), first.reader, tuple(told), tuple(headers), heads)


def replay(
    logs: list[Log], books: Sequence[tuple[str, Rules]], terms: Terms, progress: Progress
) -> dict[str, Any]:
    """Play logs to one rule file or to two, and tell what came of it, as plain data."""
    form = common(logs)
    contrast = Contrast() if len(books) == 2 else None
    tells = (None, None) if contrast is None else (contrast.old, contrast.new)
    sides = []
    for number, (file, rules) in enumerate(books):
        found, notes = fit(rules, form, terms.enforce)
        sides.append(Side(file, rules, Player(found, number, tells[number]), notes))
    orders = ordered(logs, terms, wanted(*[side.player.rules for side in sides]))
    span = Span()
    for batch in span.over(counted(logs, orders, progress), terms.spread):
        for side in sides:
            side.player.play(batch)
    for side in sides:
        side.player.finish()
    return {
        "format": form.label,
        "files": [read(log, order) for log, order in zip(logs, orders, strict=True)],
        **span.told(),
        "notes": span.notes(sides, terms),
        "rules": told(sides[0], terms.top),
        "against": told(sides[1], terms.top) if contrast else None,
        "diff": (
            contrast.told(terms.top, sides[0].player.total.timeline.rung) if contrast else None
        ),
    }


def ordered(logs: list[Log], terms: Terms, words: frozenset[str]) -> list[Order]:
    """The hits of each log, in order."""
    slack = round(terms.slack * SECOND)
    return [
        Order(log.source, Lines(log.format.reader(words)), log.blocks, slack) for log in logs
    ]  # fmt: skip


def counted(logs: list[Log], orders: list[Order], progress: Progress) -> Iterator[list[Hit]]:
    """All hits in order, telling now and then how far it is."""
    sizes = [log.source.size for log in logs]
    whole = sum(sizes) if all(sizes) else 0
    for batch in woven(orders):
        progress(
            sum(log.source.seen for log in logs), whole, sum(one.lines.number for one in orders)
        )
        yield batch


class Span:
    """From when until when requests came."""

    def __init__(self) -> None:
        self.begin = self.end = -1
        self.requests = 0
        # Whether every stamp so far was a whole second.
        self.coarse = True

    def over(self, batches: Iterator[list[Hit]], wide: bool) -> Iterator[list[Hit]]:
        """The batches, looked at as they pass; those of one second apart if it is `wide`."""
        for batch in spread(batches) if wide else batches:
            if not batch:
                continue
            if self.begin < 0:
                self.begin = batch[0].at
            self.end = batch[-1].at
            self.requests += len(batch)
            self.coarse = self.coarse and all(map(rough, batch))
            yield batch

    def told(self) -> dict[str, Any]:
        """The same as plain data."""
        none = self.begin < 0
        return {
            "requests": self.requests,
            "from": None if none else stamp(self.begin / SECOND),
            "until": None if none else stamp(self.end / SECOND),
            "seconds": (self.end - self.begin) / SECOND,
        }

    def notes(self, sides: list[Side], terms: Terms) -> list[str]:
        """What to know of all of it."""
        found = [SPREAD] if self.coarse and self.requests and not terms.spread else []
        for side in sides:
            unseen = side.player.unseen
            if unseen:
                found.append(
                    f"{side.file}: {unseen:,} requests came by a proxy that the rules trust, and "
                    "the log does not have what it said of the client: the proxy itself was counted"
                )
        return found


def spread(batches: Iterator[list[Hit]]) -> Iterator[list[Hit]]:
    """The same hits; those of one stamp of a whole second spread evenly over it, in their order."""
    ready: list[Hit] = []
    held: list[Hit] = []
    second = -1
    for batch in batches:
        for hit in batch:
            if held and second != upper(hit):
                ready += apart(held, second)
                held = []
            second = upper(hit)
            held.append(hit)
        ready.sort(key=MOMENT)
        # Nobody is put before the time at which they were.
        count = bisect_left(ready, held[0].at, key=MOMENT) if held else 0
        yield ready[:count]
        ready = ready[count:]
    ready += apart(held, second)
    ready.sort(key=MOMENT)
    yield ready


def upper(hit: Hit) -> int:
    """The second that a moment is not after."""
    return -(-hit.at // SECOND)


def rough(hit: Hit) -> bool:
    """Whether it was stamped with a whole second, at its beginning or at its end."""
    return hit.at % SECOND == 0 or (hit.took > 0 and (hit.at + hit.took) % SECOND == 0)


def apart(hits: list[Hit], second: int) -> list[Hit]:
    """Hits of one second, as they may have come."""
    moved = [hit for hit in hits if rough(hit)]
    for place, hit in enumerate(moved):
        hit.at = second * SECOND + place * SECOND // len(moved)
    return hits


def read(log: Log, order: Order) -> dict[str, Any]:
    """How reading one log went."""
    lines = order.lines
    return {
        "file": log.source.title, "format": log.format.label, "lines": lines.number,
        "broken": lines.broken, "asides": lines.asides, "late": order.late,
        "disordered": order.moved, "flaw": log.source.flaw,
        "examples": [{"line": line, "text": text} for line, text in lines.examples],
    }  # fmt: skip
