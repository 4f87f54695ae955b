"""Ranking: who came most by several tables, each of which knows most of those who came often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# As in top.py: what stands where in the cell of a key.
TIMES, ERROR = 1, 2
# Where keys stand, the cells, and how often somebody may have come who is not there.
Places = tuple[dict[Any, int], Any, int]


class Heavy(NamedTuple):
    """A key, how often it asked, how much less that may have been, and how often it was refused."""

    key: str
    asked: int
    error: int
    refused: int


class Count(NamedTuple):
    """How often a key came, and how much less that may have been."""

    times: int
    error: int


def heaviest(few: int, *tops: Any) -> dict[str, Count]:
    """The few who came most in all of them; of who is not in one, the most it may have been."""
    known = [top.places() for top in tops]
    whole = sum(unseen for _, _, unseen in known)
    # Whoever serves waits for this, so that of all the others no more is made than a number.
    sums: dict[str, int] = {}
    for places, cells, unseen in known:
        more = whole - unseen
        for key, at in places.items():
            count = cells[at + TIMES]
            sums[key] = sums[key] + count - unseen if key in sums else count + more
    if len(sums) > few:
        least = sorted(sums.values())[len(sums) - few]
        sums = {key: count for key, count in sums.items() if count >= least}
    return met(sorted(sums, key=lambda key: (-sums[key], key))[:few], known)


def met(keys: Iterable[str], known: Sequence[Places]) -> dict[str, Count]:
    """How often each of these came in all of them."""
    found = {}
    for key in keys:
        several = [counted(key, *each) for each in known]
        found[key] = Count(sum(one.times for one in several), sum(one.error for one in several))
    return found


def counted(key: str, places: dict[Any, int], cells: Any, unseen: int) -> Count:
    """How often a key came, and how much less that may have been."""
    at = places.get(key, -1)
    return Count(unseen, unseen) if at < 0 else Count(cells[at + TIMES], cells[at + ERROR])
