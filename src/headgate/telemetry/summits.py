"""Summits: who asks most by each rule, told without keeping those waiting who are being served.

To look through all keys of a rule takes most of a millisecond. So of many rules in which something
has changed, a reading looks at a few, those first that were looked at longest ago; of the others it
says what it said before. Of very many rules the busiest are told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.rules.live.ruling import Ruling
from headgate.telemetry.reading import TopReading

# So many heavy hitters are told, of so many rules; and so many rules are looked at in one reading.
FEW, MANY, PART = 20, 100, 8


class Summits:
    """What was told of each rule: how much it had counted by then, when, and who asks most."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[Any, int, TopReading]] = {}

    def tell(self, rulings: Mapping[str, Ruling], now: int) -> dict[str, TopReading]:
        """Who asks most by these rules, and who is refused most."""
        known = rulings if len(rulings) <= MANY else busiest(rulings)
        # Who has just come has little to look through.
        due = [name for name in known if name not in self._told]
        old = [name for name in self._told if name in known and self._moved(name, known[name])]
        due += sorted(old, key=lambda name: self._told[name][1])[:PART]
        for name in due:
            tops: Any = known[name].tally.tops.reading(FEW, now)
            self._told[name] = (sums(known[name]), now, tops)
        self._told = {name: one for name, one in self._told.items() if name in rulings}
        return {name: self._told[name][2] for name in known}

    def _moved(self, name: str, ruling: Ruling) -> bool:
        return bool(self._told[name][0] != sums(ruling))


def sums(ruling: Ruling) -> tuple[int, int]:
    """How often somebody was refused lately, and how often anybody asked."""
    tops = ruling.tally.tops
    refused = tops.refused.total + tops.refused_before.total
    return refused, tops.total()


def busiest(rulings: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """Those that refuse most, and then those that are asked most; in their order."""
    kept = {*sorted(rulings, key=lambda name: sums(rulings[name]), reverse=True)[:MANY]}
    return {name: one for name, one in rulings.items() if name in kept}
