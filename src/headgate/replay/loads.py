"""Loads: how a service did under loads of several sizes, from a load test or from its own log.

A result is a table, in CSV or JSON, with a row for each load: how many at once (or it follows from
the other two, by Little's law), how many were served in a second, and how long one took.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from math import isfinite, log2
from typing import Any

from headgate.replay.hits import Hit
from headgate.replay.knee import Point

MILLION = 1_000_000
# What tools call it. The number is how many of it are a second, or one.
NAMES: dict[str, dict[str, float]] = {
    "concurrency": dict.fromkeys(
        ("concurrency", "connections", "clients", "users", "user count", "vus", "workers", "c"), 1.0
    ),
    "throughput": dict.fromkeys(
        ("throughput", "rate", "rps", "qps", "requests/s", "requests/sec", "requests_per_s"), 1.0
    ),
    "latency": {
        "latency": 1.0, "latency_s": 1.0, "seconds": 1.0, "latency_ms": 1e3, "latency_us": 1e6,
        "p50": 1.0, "p50_ms": 1e3, "median": 1.0, "median_ms": 1e3, "mean": 1.0, "mean_ms": 1e3,
        "avg": 1.0, "avg_ms": 1e3, "average": 1.0, "50%": 1e3, "latencies.50th": 1e9,
        "latencies.mean": 1e9, "http_req_duration": 1e3,
    },
}  # fmt: skip
WANTED = "latency (in seconds; latency_ms is in milliseconds), and concurrency or throughput"
# A point of a log's curve is made of so many requests at least.
ENOUGH = 30
# Time is cut into at most so many parts.
MOST_PARTS = 64
# Above this, so many sizes of a crowd are told apart for each doubling.
EXACT = 8
STEPS = 4


def points(text: str, name: str) -> list[Point]:
    """The rows of a result; a ValueError says what is missing."""
    rows = list(objects(text) if text.lstrip()[:1] in ("{", "[") else table(text))
    if not rows:
        raise ValueError(f"{name}: no rows stand in it")
    found = [point for point in map(pointed, rows) if point is not None]
    if not found:
        raise ValueError(
            f"{name}: no row has {WANTED}; its columns are {', '.join(rows[0]) or 'none'}"
        )
    return found


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The rows of JSON: a list of objects, or one on each line."""
    try:
        whole = json.loads(text)
    except ValueError:
        try:
            whole = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as problem:
            raise ValueError(f"the result of a load test is no JSON: {problem}") from None
    for one in whole if isinstance(whole, list) else [whole]:
        if isinstance(one, dict):
            inner = {
                f"{name}.{word}": value
                for name, part in one.items()
                if isinstance(part, dict)
                for word, value in part.items()
            }
            yield {str(word).strip().lower(): value for word, value in {**inner, **one}.items()}


def table(text: str) -> Iterator[dict[str, Any]]:
    """The rows of CSV, whose first line has the names."""
    for row in csv.DictReader(io.StringIO(text)):
        yield {word.strip().lower(): value for word, value in row.items() if word is not None}


def pointed(row: dict[str, Any]) -> Point | None:
    """What one row says; None if it does not say enough."""
    if row.get("name") not in (None, "", "Aggregated"):
        # Locust has a row for each endpoint as well.
        return None
    said = {word: first(row, names) for word, names in NAMES.items()}
    many, rate, took = said["concurrency"], said["throughput"], said["latency"]
    if took is None or (many is None and rate is None):
        return None
    return Point(
        rate * took if many is None and rate is not None else many or 0.0,
        (many or 0.0) / took if rate is None else rate,
        took,
    )


def first(row: dict[str, Any], names: dict[str, float]) -> float | None:
    """The first of these that is a number, in seconds or pieces."""
    for name, scale in names.items():
        try:
            number = float(row[name])
        except (KeyError, TypeError, ValueError):
            continue
        if isfinite(number) and number > 0:
            return number / scale
    return None


class Crowd:
    """Who was inside of a service whose log says how long requests took, and how long that was.

    Each request is counted with those that were inside when it came. Those of a time with the same
    crowd make a point; by Little's law, so many are served as there are, by how long they stay.
    """

    def __init__(self) -> None:
        self.width = MILLION
        # By part of time and size of the crowd: how many requests, and how long they took.
        self.parts: dict[int, dict[int, list[int]]] = {}
        # Whether every stamp was a whole second, so that the order within one is not known.
        self.rough = True
        self._ends: list[int] = []

    def add(self, hits: Iterable[Hit]) -> None:
        """Requests whose duration is known, in the order in which they began."""
        ends = self._ends
        for hit in hits:
            if hit.took < 0:
                continue
            if self.rough and hit.at % MILLION and (hit.at + hit.took) % MILLION:
                self.rough = False
            while ends and ends[0] <= hit.at:
                heappop(ends)
            heappush(ends, hit.at + hit.took)
            sizes = self.parts.setdefault(hit.at // self.width, {})
            found = sizes.setdefault(size(len(ends)), [0, 0, 0])
            found[0] += 1
            found[1] += hit.took
            found[2] += len(ends)
            if len(self.parts) > MOST_PARTS:
                self._widen()

    def points(self, since: float = 0.0, until: float = 1.0) -> list[Point]:
        """The curve, of a share of the time."""
        order = sorted(self.parts)
        whole: dict[int, list[int]] = {}
        for at in order[int(since * len(order)) : int(until * len(order))]:
            join(whole, self.parts[at])
        return [
            Point(inside / count, inside / took * MILLION, took / count / MILLION)
            for _, (count, took, inside) in sorted(whole.items())
            if count >= ENOUGH and took > 0
        ]

    def _widen(self) -> None:
        old, self.parts = self.parts, {}
        self.width *= 2
        for at, sizes in old.items():
            join(self.parts.setdefault(at // 2, {}), sizes)


def size(inside: int) -> int:
    """The number of a size: each its own while they are few, then some for each doubling."""
    return inside if inside <= EXACT else EXACT + round(log2(inside / EXACT) * STEPS)


def join(whole: dict[int, list[int]], part: dict[int, list[int]]) -> None:
    """Add what is in a part."""
    for number, counts in part.items():
        found = whole.setdefault(number, [0] * len(counts))
        for place, count in enumerate(counts):
            found[place] += count
