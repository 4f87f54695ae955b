"""Scores: what rules did to the requests of a log: how many, to whom, and when.

Memory is bounded: time is cut into at most some hundred parts, which grow as a log goes on; and of
more keys than are kept, those go that were never refused, so that who is refused is counted
exactly for as long as there is any room.
"""

from __future__ import annotations

ALLOWED = 0
DELAYED = 1
REFUSED = 2
SHADOWED = 3
MILLION = 1_000_000
# Seconds that a part of time may have; each is a multiple of the one before.
WIDTHS = (
    1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800, 2_419_200,
    29_030_400, 290_304_000,
)  # fmt: skip
MOST_PARTS = 600
# So many keys are kept for each rule, and of so many of those who were refused it is kept when.
MOST_KEYS = 1_000_000
CHARTED = 400


class Part:
    """What happened in one part of time."""

    __slots__ = ("asked", "delayed", "refused", "shadowed")

    asked: int
    delayed: int
    refused: int
    shadowed: int

    def __init__(self) -> None:
        self.asked = self.delayed = self.refused = self.shadowed = 0


class Timeline:
    """Parts of time, by their numbers; `width` is how many seconds each has."""

    __slots__ = ("at", "now", "parts", "rung", "width")

    parts: dict[int, Part]
    now: Part
    at: int
    rung: int
    width: int

    def __init__(self) -> None:
        self.parts = {}
        self.rung = 0
        self.width = WIDTHS[0]
        self.at = -1
        self.now = Part()

    def part(self, moment: int) -> Part:
        """The part that a moment is in."""
        at = moment // (self.width * MILLION)
        return self.now if at == self.at else self.turn(at)

    def turn(self, at: int) -> Part:
        found = self.parts.get(at)
        if found is None:
            found = self.parts[at] = Part()
        self.at = at
        self.now = found
        if len(self.parts) > MOST_PARTS and self.rung + 1 < len(WIDTHS):
            self.fold(self.rung + 1)
            found = self.parts[self.at]
        return found

    def fold(self, rung: int) -> None:
        """Have parts of a greater width from now on."""
        times = WIDTHS[rung] // self.width
        old = self.parts
        self.parts = {}
        for at, part in old.items():
            whole = self.parts.get(at // times)
            if whole is None:
                self.parts[at // times] = part
            else:
                whole.asked += part.asked
                whole.delayed += part.delayed
                whole.refused += part.refused
                whole.shadowed += part.shadowed
        self.rung = rung
        self.width = WIDTHS[rung]
        self.at //= times
        self.now = self.parts[self.at] if self.at in self.parts else Part()


class Count:
    """How often one key asked, and what it was told; `when` are its refusals by part of time."""

    __slots__ = ("asked", "delayed", "refused", "shadowed", "when", "width")

    asked: int
    delayed: int
    refused: int
    shadowed: int
    when: dict[int, int] | None
    width: int

    def __init__(self) -> None:
        self.asked = self.delayed = self.refused = self.shadowed = 0
        self.when = None
        self.width = 0


class Score:
    """What one rule did."""

    __slots__ = (
        "allowed", "asked", "charted", "delayed", "forgotten", "keys", "kinds", "name", "refused",
        "room", "shadowed", "timeline", "waited",
    )  # fmt: skip

    keys: dict[str, Count]
    kinds: dict[str, int]
    timeline: Timeline

    def __init__(self, name: str, room: int) -> None:
        self.name = name
        # From so many keys on, somebody has to see that there is room for more of them.
        self.room = room
        self.asked = self.allowed = self.delayed = self.refused = self.shadowed = 0
        self.charted = self.forgotten = 0
        # Microseconds that those who were let in had to wait.
        self.waited = 0
        self.keys = {}
        self.kinds = {}
        self.timeline = Timeline()

    def add(self, moment: int, key: str, outcome: int) -> int:
        """Count one request; answers how many keys there are, if there may not be room for more."""
        part = self.timeline.part(moment)
        count = self.keys.get(key)
        if count is None:
            count = self.keys[key] = Count()
        self.asked += 1
        part.asked += 1
        count.asked += 1
        if outcome != ALLOWED:
            self.mark(moment, count, part, outcome)
        else:
            self.allowed += 1
        known = len(self.keys) + self.forgotten
        return known if known >= self.room else 0

    def sum(self, moment: int, outcome: int) -> None:
        """Count one request, whoever asked."""
        part = self.timeline.part(moment)
        self.asked += 1
        part.asked += 1
        if outcome == ALLOWED:
            self.allowed += 1
        elif outcome == DELAYED:
            self.delayed += 1
            part.delayed += 1
        elif outcome == REFUSED:
            self.refused += 1
            part.refused += 1
        else:
            self.allowed += 1
            self.shadowed += 1
            part.shadowed += 1

    def mark(self, moment: int, count: Count, part: Part, outcome: int) -> None:
        if outcome == DELAYED:
            self.delayed += 1
            part.delayed += 1
            count.delayed += 1
            return
        if outcome == REFUSED:
            self.refused += 1
            part.refused += 1
            count.refused += 1
        else:
            self.allowed += 1
            self.shadowed += 1
            part.shadowed += 1
            count.shadowed += 1
        self.chart(moment, count)

    def chart(self, moment: int, count: Count) -> None:
        width = self.timeline.width
        when = count.when
        if when is None:
            if self.charted >= 2 * CHARTED:
                self.thin()
            self.charted += 1
            when = count.when = {}
            count.width = width
        elif count.width != width:
            when = count.when = folded(when, width // count.width)
            count.width = width
        at = moment // (width * MILLION)
        when[at] = when.get(at, 0) + 1

    def thin(self) -> None:
        """Keep when it was only of those who were refused most."""
        known = [one for one in self.keys.values() if one.when is not None]
        known.sort(key=stopped, reverse=True)
        for one in known[CHARTED:]:
            one.when = None
        self.charted = min(CHARTED, len(known))

    def prune(self) -> None:
        """Forget half of the keys: first those that were never refused, and of them the least."""
        order = sorted(self.keys, key=self.weight)
        for key in order[: len(order) // 2]:
            count = self.keys.pop(key)
            self.charted -= count.when is not None
        self.forgotten += len(order) // 2

    def weight(self, key: str) -> tuple[int, int]:
        count = self.keys[key]
        return stopped(count), count.asked


def stopped(count: Count) -> int:
    """How often somebody was refused, or would have been."""
    return count.refused + count.shadowed


def folded(when: dict[int, int], times: int) -> dict[int, int]:
    """The same with parts so many times as wide."""
    found: dict[int, int] = {}
    for at, count in when.items():
        found[at // times] = found.get(at // times, 0) + count
    return found
