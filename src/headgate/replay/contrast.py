"""Contrast: what two rule files make of the same requests: whom only one of them refuses."""

from __future__ import annotations

from typing import Any

from headgate.replay.hits import Hit
from headgate.replay.score import WIDTHS

MILLION = 1_000_000
NEITHER, BOTH, OLD, NEW = range(4)
WORDS = ("neither", "both", "only_old", "only_new")
MOST_PARTS = 600
# Of so many keys it is known what became of them; beyond, the least concerned are forgotten.
MOST_KEYS = 200_000


class Contrast:
    """Told every verdict of two players, it keeps what they do not agree upon."""

    def __init__(self) -> None:
        self.totals = [0, 0, 0, 0]
        # By the rule that refused in the old file and that in the new; "" where none did.
        self.rules: dict[tuple[str, str], int] = {}
        # By side, rule and key.
        self.keys: dict[tuple[int, str, str], int] = {}
        self.parts: dict[int, list[int]] = {}
        self.forgotten = 0
        self._rung = 0
        self._waiting: dict[Hit, tuple[int, str, str]] = {}

    def old(self, hit: Hit, rule: str, key: str) -> None:
        """What the old rules said."""
        self._tell(0, hit, rule, key)

    def new(self, hit: Hit, rule: str, key: str) -> None:
        """What the new rules say."""
        self._tell(1, hit, rule, key)

    @property
    def width(self) -> int:
        """How many seconds a part of time has."""
        return WIDTHS[self._rung]

    def _tell(self, side: int, hit: Hit, rule: str, key: str) -> None:
        # Where somebody waits, verdicts on one request may be far apart.
        other = self._waiting.pop(hit, None)
        if other is None:
            self._waiting[hit] = side, rule, key
            return
        mine, theirs = (side, rule, key), other
        before, after = (mine, theirs) if side == 0 else (theirs, mine)
        self._compare(hit, before[1:], after[1:])

    def _compare(self, hit: Hit, before: tuple[str, str], after: tuple[str, str]) -> None:
        kind = (BOTH if after[0] else OLD) if before[0] else (NEW if after[0] else NEITHER)
        self.totals[kind] += 1
        if kind == NEITHER:
            return
        pair = before[0], after[0]
        self.rules[pair] = self.rules.get(pair, 0) + 1
        at = hit.at // (self.width * MILLION)
        part = self.parts.get(at)
        if part is None:
            part = self.parts[at] = [0, 0, 0, 0]
        part[kind] += 1
        if len(self.parts) > MOST_PARTS and self._rung + 1 < len(WIDTHS):
            self.fold(self._rung + 1)
        if kind != BOTH:
            rule, key = before if kind == OLD else after
            whom = kind, rule, key
            self.keys[whom] = self.keys.get(whom, 0) + 1
            if len(self.keys) > MOST_KEYS:
                self._forget()

    def fold(self, rung: int) -> None:
        """Have parts of a greater width from now on."""
        times = WIDTHS[rung] // self.width
        old, self.parts = self.parts, {}
        for at, part in old.items():
            whole = self.parts.setdefault(at // times, [0, 0, 0, 0])
            for kind, count in enumerate(part):
                whole[kind] += count
        self._rung = rung

    def _forget(self) -> None:
        order = sorted(self.keys.items(), key=lambda one: one[1], reverse=True)
        self.forgotten += len(order) - MOST_KEYS // 2
        self.keys = dict(order[: MOST_KEYS // 2])

    def told(self, most: int, rung: int) -> dict[str, Any]:
        """All of it as plain data, with the most concerned keys and parts at least so wide."""
        if rung > self._rung:
            self.fold(rung)
        width = self.width
        top = sorted(self.keys.items(), key=lambda one: (-one[1], one[0]))[:most]
        return {
            **dict(zip(WORDS, self.totals, strict=True)),
            "rules": [
                {"old": before, "new": after, "requests": count}
                for (before, after), count in sorted(self.rules.items(), key=lambda one: -one[1])
            ],
            "keys": [
                {"refused_by": "old" if kind == OLD else "new", "rule": rule, "key": key,
                 "requests": count}
                for (kind, rule, key), count in top
            ],
            # Who is refused by one here and by the other there is one all the same.
            "keys_concerned": len({key for _, _, key in self.keys}) + self.forgotten,
            "width": width,
            "timeline": [
                [at * width, part[BOTH], part[OLD], part[NEW]]
                for at, part in sorted(self.parts.items())
            ],
        }  # fmt: skip
