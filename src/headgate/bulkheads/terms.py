"""Terms: what a bulkhead is told, checked and in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from headgate.measures import FOREVER, MILLION, share, whole


def divided(partitions: Mapping[str, float]) -> tuple[dict[str, int], tuple[int, ...]]:
    """The number of each partition, and the share of each number; one for all if there are none."""
    if not partitions:
        return {}, (MILLION,)
    shares = tuple(
        share("Bulkhead", f"the share of {name!r}", part) for name, part in partitions.items()
    )
    if sum(shares) > MILLION:
        raise ValueError(f"Bulkhead: the shares of partitions add up to {sum(shares) / MILLION:g}")
    return {name: number for number, name in enumerate(partitions)}, shares


def lengthy(queue: float) -> int:
    """How many may wait, as a whole number."""
    return FOREVER if queue == inf else whole("Bulkhead", "queue", queue, 0)


def behind(queue: int) -> float:
    """How many wait behind the one at the gate."""
    return inf if queue >= FOREVER else max(0, queue - 1)
