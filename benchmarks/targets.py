"""Targets: what Headgate promises about its speed and size, held against a run's figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contestants import CLOCK, FLOOR, OURS

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = 100_000
BYTES_A_KEY = 64


@dataclass(frozen=True)
class Target:
    """One promise: the figure from the least times, the one from the medians, and the goal."""

    promise: str
    value: float | None
    median: float | None
    goal: float
    met: bool | None


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; `met` is None where the run did not measure what it takes.

    Promises are judged by the least times, those that the rest of the machine disturbed least.
    """
    allowed, plain = results["allowed"], results["interpreted"]
    enough = results["sizes"]["many"] >= KEYS
    many = results["many"] if enough else {}
    floors = {name: each for name, each in many.items() if name in (FLOOR, CLOCK)}
    alone = results["alone"] | floors
    size = alone.get(OURS, {}).get("bytes") if enough else None
    rust = ("rust-py-rate-limit allow()", "flowguard")
    floor = "x (empty method call + C clock read)"
    return [
        _at_least("x as fast as limits, hot key", 30, _lead(allowed, "limits ")),
        _at_least("x as fast as throttled-py, hot key", 35, _lead(allowed, "throttled-py ")),
        _at_least("x as fast as the fastest Rust peer's bool", 1, _lead(allowed, *rust)),
        _at_most(f"{floor}, hot key", 2, _above_floor(allowed)),
        _at_most(f"{floor}, {KEYS:,} keys, whole passes", 4, _least_only(_above_floor(alone))),
        _at_most(f"bytes a key, token bucket, {KEYS:,} keys", BYTES_A_KEY, lambda _: size),
        _at_least("x as fast as limits, interpreted, hot key", 2, _lead(plain, "limits ")),
    ]


def _at_least(promise: str, goal: float, figure: Callable[[str], float | None]) -> Target:
    value = figure("least")
    met = None if value is None else value >= goal
    return Target(f">= {goal} {promise}", value, figure("median"), goal, met)


def _at_most(promise: str, goal: float, figure: Callable[[str], float | None]) -> Target:
    value = figure("least")
    met = None if value is None else value <= goal
    return Target(f"<= {goal} {promise}", value, figure("median"), goal, met)


def _lead(timings: dict[str, Any], *peers: str) -> Callable[[str], float | None]:
    """How many times longer the fastest of the peers takes than we do."""

    def figure(which: str) -> float | None:
        theirs = [each[which] for name, each in timings.items() if name.startswith(peers)]
        if not theirs or OURS not in timings:
            return None
        return float(min(theirs) / timings[OURS][which])

    return figure


def _above_floor(timings: dict[str, Any]) -> Callable[[str], float | None]:
    """How many times longer we take than an empty call and a reading of the clock."""

    def figure(which: str) -> float | None:
        if not {OURS, FLOOR, CLOCK} <= timings.keys():
            return None
        return float(timings[OURS][which] / (timings[FLOOR][which] + timings[CLOCK][which]))

    return figure


def _least_only(figure: Callable[[str], float | None]) -> Callable[[str], float | None]:
    """Medians of two processes, taken at different times, make no ratio."""
    return lambda which: figure(which) if which == "least" else None
