"""Which of all combinations are tried: enough that every value meets every other one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from tests.conftest import BRIEF, SCALE

# One of so many combinations is tried. In one half of them each value still stands beside each
# other one. The second form, of the same source, gets less; `make soak` gets all.
ONE_IN = 1 if SCALE > 1 else 3 if BRIEF else 2


def pairs(*things: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows for `parametrize`, which names three things or more."""
    numbered = product(*(enumerate(values) for values in things))
    rows = ([*zip(*row, strict=True)] for row in numbered)
    return [values for places, values in rows if sum(places) % ONE_IN == 0]
