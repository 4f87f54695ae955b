"""Measures: the numbers people give, checked and turned into those that are counted with.

Seconds become microseconds, shares become parts per million. What is wrong is said with the name
of who was told, the word it was told under, what would be right, and what it was.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

# Longer than any wait: what infinite seconds become.
FOREVER = 1 << 62
MILLION = 1_000_000


def seconds(who: str, word: str, value: Any, least: float = 0.0) -> int:
    """The microseconds of so many seconds."""
    if not real(value):
        raise TypeError(f"{who}: {word} is a number of seconds, not {value!r}")
    if not value >= least:
        raise ValueError(f"{who}: {word} is {least:g} or more seconds, not {value!r}")
    return FOREVER if value >= FOREVER / MILLION else round(value * MILLION)


def share(who: str, word: str, value: Any) -> int:
    """The parts per million of a share, which is above 0 and at most 1."""
    if not real(value):
        raise TypeError(f"{who}: {word} is a share such as 0.5, not {value!r}")
    if not 0.0 < value <= 1.0:
        raise ValueError(f"{who}: {word} is a share above 0 and up to 1, not {value!r}")
    return max(1, round(value * MILLION))


def number(who: str, word: str, value: Any, least: float, most: float = math.inf) -> float:
    """A number between two others."""
    if not real(value):
        raise TypeError(f"{who}: {word} is a number, not {value!r}")
    if not least <= value <= most:
        bounds = f"from {least:g} to {most:g}" if most < math.inf else f"{least:g} or more"
        raise ValueError(f"{who}: {word} is {bounds}, not {value!r}")
    return float(value)


def whole(who: str, word: str, value: Any, least: int, most: int = 1 << 40) -> int:
    """A whole number between two others."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{who}: {word} is a whole number, not {value!r}")
    if not least <= value <= most:
        bounds = f"from {least:,} to {most:,}" if value > most else f"{least} or more"
        raise ValueError(f"{who}: {word} is {bounds}, not {value!r}")
    return int(value)


def real(value: Any) -> TypeGuard[float]:
    """Whether it is a number at all; a bool is a word."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
