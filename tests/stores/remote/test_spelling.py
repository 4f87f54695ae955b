"""Limits are spelled so that a service opens the same."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import FixedWindow, Limit, LimitError, SlidingLog, TokenBucket
from headgate.stores.remote.spelling import read, spell
from tests.conformance.limits import LIMITS

EVERY = [limit for limits in LIMITS.values() for limit in limits]


@pytest.mark.parametrize("limit", [*EVERY, TokenBucket("5KB/s", name="a b", penalty=3)], ids=repr)
def test_a_limit_comes_out_as_it_went_in(limit: Limit) -> None:
    found = read(spell((limit,), "api", False))

    assert found == ((limit,), "api", False)
    assert found.limits[0].name == limit.name


def test_several_limits_and_a_time_that_is_told() -> None:
    limits = TokenBucket("5/s"), FixedWindow("7/day", calendar="day", zone="Europe/Paris")

    assert read(spell(limits, "", True)) == (limits, "", True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "limits are spelled as JSON"),
        ("[" * 100_000, "limits are spelled as JSON"),
        ("[]", "limits are spelled with limits, name, told"),
        ('{"limits": [], "more": 1}', "limits are spelled with limits, name, told"),
        ('{"limits": []}', "there are from 1 to 8 limits"),
        ('{"limits": [1]}', "a limit is spelled with rate and by, which is one of FixedWindow, "
                            "GCRA, LeakyBucket, SlidingLog, SlidingWindow, TokenBucket, WarmUp"),
        ('{"limits": [{"by": "GCRA", "rate": "x"}]}', 'rate "x": expected a count but found "x" at '
                                                      "column 1; try 100/min or unlimited"),
        ('{"limits": [{"by": "GCRA", "rate": "unlimited"}]}', "unlimited is no limit to count; "
                                      'leave it out, or use Limiter("unlimited")'),
        ('{"limits": [{"by": "GCRA", "rate": "1/s", "burst": "a"}]}',
         "GCRA: burst is a whole number, not 'a'"),
        ('{"limits": [{"by": "GCRA", "rate": "1/s"}], "name": 1}',
         "a name is a text of at most 200 characters"),
        ('{"limits": [{"by": "GCRA", "rate": "1/s"}], "told": 1}', "told is true or false"),
    ],
)  # fmt: skip
def test_what_is_no_spelling_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(text.encode())

    assert str(caught.value) == problem


def test_a_limit_too_large_for_a_service_is_refused_where_it_is_made() -> None:
    with pytest.raises(LimitError, match="a service keeps at most 20,000 numbers a key"):
        spell((SlidingLog("30000/h"),), "", False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["limits", "name", "told", "by", "rate", "burst", "penalty", "period"]),
        inner | st.sampled_from(["GCRA", "WarmUp", "FixedWindow", "5/s", "1/day"]), max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_nothing_that_is_told_leads_to_another_error(said: Any) -> None:
    for text in (json.dumps(said), json.dumps({"limits": [said]})):
        with suppress(ValueError):
            read(text.encode())
