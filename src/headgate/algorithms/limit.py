"""Limit: what every algorithm is to the store that keeps its cells.

A limit is a frozen value: how much, how often, by which algorithm. Its state is not in it: a store
keeps `width` int64 cells per key and passes them in. Four verbs join the two:

- `look`: what would happen if `cost` units entered no earlier than `enter`; changes nothing.
  Answers (wait, remaining, reset, a, b, c): microseconds until it may enter, units left (negative
  in debt), microseconds until the key is as new, and the cells that would be true.
- `keep`: write what `look` answered, because all limits agreed.
- `charge`: spend or give back without asking: debits, refunds, penalties, cancelled bookings.
- `open`: the cells of a key never seen.

Three more serve rare moments: `left` and `fill` when a limit is changed while in use, and `follow`
for limits that go by the calendar.

Each algorithm's arithmetic is in its `step` and `charge`, pure functions of integers in a sliver
of Python that `tools/twins.py` also writes as Lua. Two numbers bound them: every product stays
below 2^53, so that a Lua number holds it exactly, and this is checked here, when a limit is built.

A clock that steps back is not believed up to a second (`SLACK` in each step): the cells stay as
they are until it has caught up. After a larger step they are moved along with it, so that nothing
is granted twice and no key is frozen for long.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from headgate.errors import LimitError
from headgate.rate import Rate

# What a level may hold: with refills and debts of twice that, sums stay below 2^53.
ROOM = 1 << 50
YEAR = 365 * 86_400 * 1_000_000

# What moves while a calendar is followed, in a copy that only its store has.
MOVING = ("begin", "end", "first", "length", "unit")

# How state is carried over when a limit changes.
SCALE = 0
KEEP = 1
RESET = 2

Answer = tuple[int, int, int, int, int, int]
Cells = MutableSequence[int]


class Limit:
    """A rate and an algorithm: how much may go in, and by which count.

    Not made directly: make a `TokenBucket`, a `FixedWindow`, or another of its kinds. Limits
    compare by value and print as you would type them.
    """

    __slots__ = (
        "heaviest",
        "horizon",
        "lasting",
        "limit",
        "most",
        "name",
        "options",
        "penalty",
        "rate",
        "ring",
        "spelling",
        "width",
        "worst",
    )

    rate: Rate
    name: str
    options: dict[str, Any]
    spelling: str
    limit: int
    most: int
    heaviest: int
    width: int
    ring: int
    penalty: int
    lasting: int
    horizon: int
    worst: int

    def __init__(self, *args: Any, **options: Any) -> None:
        raise TypeError("a Limit is made as one of its kinds, for example TokenBucket")

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        return (0, 0, 0, 0, 0, 0)

    def keep(self, cells: Cells, row: int, now: int, cost: int, a: int, b: int, c: int) -> None:
        cells[row] = a
        cells[row + 1] = b
        if self.width > 2:
            cells[row + 2] = c

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        pass

    def open(self, cells: Cells, row: int, now: int) -> None:
        cell = 0
        while cell < self.width:
            cells[row + cell] = 0
            cell += 1

    def left(self, cells: Cells, row: int, now: int) -> float:
        # Units left, with whatever part of one there is; negative in debt. Where it divides, it
        # divides by a float: compiled, a quotient of integers would be cut.
        wait, remaining, reset, a, b, c = self.look(cells, row, now, now, 0, 1 << 52)
        return remaining

    def fill(self, cells: Cells, row: int, now: int, units: float) -> None:
        # Make it so in a key just opened.
        spent = self.limit - int(units // 1)
        if spent > 0:
            self.charge(cells, row, now, spent, now)

    def follow(self, now: int) -> None:
        pass

    def date(self, now: int, span: int, patience: int) -> int:
        # How long `span` microseconds from `now` really are; by the calendar, windows differ.
        return span

    def undate(self, now: int, moment: int) -> int:
        # A moment ahead as the steps count it; the inverse of `date`.
        return moment

    def own(self) -> Limit:
        """The limit a store may keep to itself: this one, unless it follows a calendar."""
        return self

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.spelling

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Limit):
            return NotImplemented
        return self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash(self._meaning())

    def _meaning(self) -> tuple[Any, ...]:
        # A burst may be spelled in the rate or beside it, and bytes are units.
        options = sorted((word, value) for word, value in self.options.items() if word != "burst")
        return type(self), self.rate.count, self.rate.period, self.limit, tuple(options)

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (type(self), self.rate, self.options)

    def __setattr__(self, name: str, value: object) -> None:
        # Compiled code writes its C attributes directly; this guards against everyone else.
        if getattr(self, "spelling", None) is not None and name not in MOVING:
            raise AttributeError(f"{type(self).__name__} is frozen; make a new one")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; make a new one")


def parse(rate: Rate | str) -> Rate:
    """The `Rate` that `rate` spells, unless it is one already."""
    parsed = rate if isinstance(rate, Rate) else Rate(rate)
    if parsed.unlimited:
        raise LimitError(
            'unlimited is no limit to count; leave it out, or use Limiter("unlimited")'
        )
    return parsed


def whole(kind: str, word: str, value: Any, least: int, most: int = ROOM) -> int:
    """`value` as an int from `least` to `most`, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{kind}: {word} is a whole number, not {value!r}")
    if not least <= value <= most:
        raise LimitError(f"{kind}: {word} is from {least} to {most:,}, not {value}")
    return value


def switch(kind: str, word: str, value: Any) -> int:
    """1 or 0 for True or False, or an error that names what it is instead."""
    if not isinstance(value, bool):
        raise TypeError(f"{kind}: {word} is True or False, not {value!r}")
    return int(value)


def titled(kind: str, name: Any) -> str:
    """The name given to a limit, if it is one."""
    if not isinstance(name, str):
        raise TypeError(f"{kind}: name is a str, not {name!r}")
    return name


def choice(kind: str, word: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`, or an error that lists them."""
    if value not in choices:
        listed = " or ".join(f'"{one}"' for one in choices)
        raise LimitError(f"{kind}: {word} is {listed}, not {value!r}")
    return str(value)


def meter(
    limit: Limit, kind: str, rate: Rate | str, burst: int | None, penalty: int, name: str
) -> tuple[int, int, int, int, int]:
    """Fill in what a meter with a level is; answers (burst, gain, scale, capacity, span).

    A unit is `scale` parts and each microsecond brings or takes `gain`: exact, in lowest terms.
    """
    limit.rate = parse(rate)
    size = limit.rate.burst if burst is None else whole(kind, "burst", burst, 0)
    gain, scale = limit.rate.reduced
    if size * scale > ROOM or gain > ROOM >> 10:
        raise LimitError(
            f'{kind}("{limit.rate}"): a burst of {size:,} at {gain:,} per {scale:,} microseconds '
            "does not fit into exact arithmetic; choose a smaller burst or a rounder rate"
        )
    gain = max(1, gain)
    limit.limit = size
    limit.most = size if limit.rate.count and size else -1
    limit.heaviest = ROOM // scale
    limit.penalty = whole(kind, "penalty", penalty, 0, max(1, size))
    limit.horizon = min(ROOM // gain, 100 * YEAR)
    limit.worst = size
    limit.lasting = limit.ring = 0
    limit.name = titled(kind, name) or plainly(limit.rate, size)
    return size, gain, scale, size * scale, (1 << 52) // gain


def counter(limit: Limit, kind: str, rate: Rate | str, penalty: int, name: str) -> None:
    """Fill in what a counter of units in a window is."""
    limit.rate = parse(rate)
    if limit.rate.burst != limit.rate.count:
        plain = Rate.of(limit.rate.count, limit.rate.period)
        raise LimitError(
            f'{kind}("{limit.rate}"): a {kind} has no burst; write "{plain}", or use TokenBucket'
        )
    limit.limit = limit.rate.count
    limit.most = limit.limit or -1
    limit.heaviest = ROOM
    limit.penalty = whole(kind, "penalty", penalty, 0, max(1, limit.limit))
    limit.horizon = 100 * YEAR
    limit.worst = limit.limit
    limit.lasting = limit.ring = 0
    limit.name = titled(kind, name) or str(limit.rate)


def plainly(rate: Rate, burst: int) -> str:
    """The rate and its burst, as a rule file would say it."""
    if burst in (rate.burst, 0) or rate.count == 0:
        return str(rate)
    return str(Rate.of(rate.count, rate.period, burst))


def describe(limit: Limit, options: dict[str, Any], usual: dict[str, Any]) -> None:
    """Fill in how the limit is typed: the rate, then whatever differs from the usual.

    The last thing done when a limit is made: from here on it is frozen.
    """
    limit.options = {}
    said = ""
    for word, value in options.items():
        if value != usual[word]:
            limit.options[word] = value
            said += f", {word}={value!r}"
    limit.spelling = f'{type(limit).__name__}("{limit.rate}"{said})'


def remake(kind: type[Limit], rate: Rate, options: dict[str, Any]) -> Limit:
    """The limit that was pickled."""
    return kind(rate, **options)
