"""What workers say of a key becomes one answer, in which the worst is told."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.workers.steward import tightest


def one(*left: tuple[int, int], inside: int = 0, breaker: str = "") -> dict[str, Any]:
    """What a worker says: of each limit how much is left of how much."""
    return {
        "limits": [{"remaining": some, "limit": most} for some, most in left],
        "places": {"limit": 2, "inside": inside, "waiting": 1},
        "breaker": breaker,
    }


def test_of_several_limits_that_counts_of_which_least_is_left() -> None:
    worn, fresh = one((9, 10), (0, 100)), one((1, 10), (50, 100))

    assert tightest([fresh, worn], own=True)["limits"] == worn["limits"]


@pytest.mark.parametrize(
    ("own", "places"),
    [
        (True, {"limit": 4, "inside": 3, "waiting": 2}),
        (False, {"limit": 2, "inside": 2, "waiting": 2}),
    ],
)
def test_more_are_never_inside_than_there_are_places(own: bool, places: dict[str, int]) -> None:
    assert tightest([one(inside=2), one(inside=1)], own)["places"] == places


@pytest.mark.parametrize(
    ("several", "told"),
    [
        (["closed", "open"], "open"),
        (["closed", "half_open"], "half_open"),
        (["half_open", "open"], "open"),
        (["closed", "closed"], "closed"),
        (["", ""], ""),
    ],
)
def test_a_breaker_that_is_open_anywhere_is_told(several: list[str], told: str) -> None:
    assert tightest([one(breaker=state) for state in several], own=False)["breaker"] == told
