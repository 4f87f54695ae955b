"""Pulse: a server is well or not by several checks in a row, never by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.gateway.upstreams.pulse import Pulse

NUMBERS = st.integers(1, 5)


@pytest.mark.parametrize(
    ("up", "down", "checks", "states"),
    [
        # A + is a good check or a server that is well, a - is the other.
        (2, 3, "---", "++-"),
        (2, 3, "--+--", "+++++"),
        (2, 3, "---+-+", "++----"),
        (2, 3, "---++", "++--+"),
        (2, 3, "---++---", "++--+++-"),
        (1, 1, "-+-+", "-+-+"),
        (3, 1, "-++-+++", "------+"),
        (1, 3, "+++---+", "+++++-+"),
    ],
)
def test_so_many_in_a_row_turn_it(up: int, down: int, checks: str, states: str) -> None:
    pulse = Pulse(up, down)
    seen = ""
    for check in checks:
        pulse.note(check == "+")
        seen += "+" if pulse.well else "-"

    assert seen == states


@given(NUMBERS, NUMBERS, st.booleans(), st.lists(st.booleans()))
def test_it_says_when_it_turns(up: int, down: int, well: bool, checks: list[bool]) -> None:
    pulse = Pulse(up, down, well)
    for good in checks:
        before = pulse.well
        turned = pulse.note(good)

        assert turned == (before != pulse.well)
        assert not turned or pulse.well == good


@given(NUMBERS, NUMBERS, st.booleans(), st.lists(st.booleans()))
def test_it_is_never_at_odds_with_enough_checks_in_a_row(
    up: int, down: int, well: bool, checks: list[bool]
) -> None:
    pulse = Pulse(up, down, well)
    for good in [*checks, *[not well] * max(up, down)]:
        pulse.note(good)

    assert pulse.well == (not well)
