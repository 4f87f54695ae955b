"""Knees: how many at once a service serves before they only wait for one another.

Up to so many, a call takes as long as it takes; beyond, each one more makes all of them wait. Two
lines are laid through the curve of latency over concurrency, the second rising, so that they miss
the points by as little as they can (least squares of what is off, as a share of the latency); the
knee is where they meet. Beside it stands what Kneedle says: the point that is farthest below the
line from the first to the last. Where the two differ much, or the curve does not rise, nobody
should rely on a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

# Latency that rises by less than this share of itself has no knee.
RISE = 0.5
LEAST = 4
APART = 2.0
NEAR = 1.01


class Point(NamedTuple):
    """So many at once, so many served in a second, and how long one took in seconds."""

    concurrency: float
    throughput: float
    latency: float


class Knee(NamedTuple):
    """Where the curve bends. `flaw` says why nobody should rely on it; empty if all is well."""

    concurrency: float
    kneedle: float
    # The latency before it, and the highest throughput.
    latency: float
    throughput: float
    flaw: str = ""


def knee(points: Sequence[Point]) -> Knee | None:
    """Where the curve through these points bends; None if there are too few of them."""
    curve = merged(points)
    if len(curve) < LEAST:
        return None
    least = min(point.latency for point in curve)
    most = max(point.throughput for point in curve)
    if curve[-1].latency < least * (1 + RISE):
        flaw = (
            f"latency rises by less than {RISE:.0%} up to {curve[-1].concurrency:g} at once: the "
            "knee is beyond what was tried"
        )
        return Knee(curve[-1].concurrency, curve[-1].concurrency, least, most, flaw)
    bend, base = broken(curve)
    other = kneedle(curve)
    flaw = ""
    if bend <= curve[0].concurrency * NEAR:
        flaw = (
            f"latency rises from the first point on, at {curve[0].concurrency:g} at once: the knee "
            "is below what was tried"
        )
    elif max(bend, other) > APART * min(bend, other):
        flaw = f"the curve bends slowly: one method says {bend:.0f}, another {other:.0f}"
    return Knee(bend, other, base, most, flaw)


def merged(points: Sequence[Point]) -> list[Point]:
    """One point for each concurrency, in order."""
    found: dict[float, list[Point]] = {}
    for point in points:
        if point.concurrency > 0 and point.latency > 0:
            found.setdefault(point.concurrency, []).append(point)
    return [
        Point(
            at, median(one.throughput for one in same), median(one.latency for one in same)
        )
        for at, same in sorted(found.items())
    ]  # fmt: skip


def broken(curve: Sequence[Point]) -> tuple[float, float]:
    """Where a level and a rising line meet that fit the curve best, and the level."""
    best, bend, base = float("inf"), curve[-1].concurrency, curve[0].latency
    for split in range(1, len(curve) - 1):
        flat, rising = curve[:split], curve[split:]
        level = middle(flat)
        slope, start = line(rising)
        if slope <= 0.0:
            continue
        miss = sum(((point.latency - level) / point.latency) ** 2 for point in flat)
        miss += sum(
            ((point.latency - start - slope * point.concurrency) / point.latency) ** 2
            for point in rising
        )
        if miss < best:
            best, bend, base = miss, (level - start) / slope, level
    return min(max(bend, 0.0), curve[-1].concurrency), base


def middle(points: Sequence[Point]) -> float:
    """The level that misses these points by the smallest shares."""
    return sum(1 / one.latency for one in points) / sum(1 / one.latency**2 for one in points)


def line(points: Sequence[Point]) -> tuple[float, float]:
    """The slope and the start of the line that misses these points by the smallest shares."""
    weights = [1 / point.latency**2 for point in points]
    whole = sum(weights)
    x = sum(w * point.concurrency for w, point in zip(weights, points, strict=True)) / whole
    y = sum(w * point.latency for w, point in zip(weights, points, strict=True)) / whole
    across = sum(
        w * (point.concurrency - x) * (point.latency - y)
        for w, point in zip(weights, points, strict=True)
    )
    wide = sum(w * (point.concurrency - x) ** 2 for w, point in zip(weights, points, strict=True))
    slope = across / wide if wide else 0.0
    return slope, y - slope * x


def kneedle(curve: Sequence[Point]) -> float:
    """The concurrency at which a curve, drawn in a square, is farthest below its diagonal."""
    low, high = curve[0], curve[-1]
    wide, tall = high.concurrency - low.concurrency, high.latency - low.latency
    if wide <= 0 or tall <= 0:
        return high.concurrency

    def below(point: Point) -> float:
        return (point.concurrency - low.concurrency) / wide - (point.latency - low.latency) / tall

    return max(curve, key=below).concurrency
