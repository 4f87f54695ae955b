"""Alerts are raised and cleared as their conditions say, and in between they stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.model.condition import Condition
from headgate.telemetry.alerts import Alert, Watchman
from headgate.telemetry.signs import quantile
from headgate.telemetry.span import PARTS, Span
from tests.telemetry.readings import WORKER, reading

Step = tuple[int, int]
STEPS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=90)


def many(**said: Any) -> Condition:
    """A condition about refusals."""
    terms = {"above": "20%", "below": "10%", "window": 10, "least": 10}
    return Condition("many", "refused", **{**terms, **said})


def play(condition: Condition, steps: Sequence[Step]) -> list[tuple[int, Alert]]:
    """What is told while so many are let in and so many refused in each second."""
    watchman, allowed, refused, found = Watchman([condition]), 0, 0, []
    for second, (more, no) in enumerate([(0, 0), *steps]):
        allowed, refused = allowed + more, refused + no
        seen = reading({"api": {"allowed": allowed, "refused": refused}})
        found += [(second, alert) for alert in watchman.look(seen, float(second))]
    return found


def levels(condition: Condition, steps: Sequence[Step]) -> list[tuple[int, str]]:
    return [(second, alert.level) for second, alert in play(condition, steps)]


def shares(steps: Sequence[Step], window: int) -> list[tuple[float, int]]:
    """The share of refusals in the seconds before each, and of how many, counted anew each time."""
    found = []
    for end in range(len(steps) + 1):
        last = steps[max(0, end - window) : end]
        refused, asked = sum(no for _, no in last), sum(sum(one) for one in last)
        found.append((refused / asked if asked else 0.0, asked))
    return found


def test_an_alert_is_raised_once_and_cleared_once() -> None:
    steps = [(10, 0)] * 5 + [(5, 5)] * 10 + [(10, 0)] * 20

    alert = Alert("many", "refused", "api", "warning", "raised", 9.0, 20 / 90, 0.2)
    assert play(many(), steps) == [(9, alert), (24, replace(alert, level="cleared", value=0.05))]


@given(STEPS)
def test_it_is_raised_from_above_on_and_cleared_below_below(steps: list[Step]) -> None:
    expected, up = [], False
    for second, (share, asked) in enumerate(shares(steps, 10)):
        if (not up and asked >= 10 and share >= 0.2) or (up and share < 0.1):
            up = not up
            expected.append((second, "raised" if up else "cleared"))

    assert levels(many(), steps) == expected


@given(st.lists(st.integers(11, 19), min_size=1, max_size=60))
def test_it_never_turns_within_the_band(percents: list[int]) -> None:
    before = [(50, 50)] * 10
    within = [(100 - percent, percent) for percent in percents]

    assert levels(many(window=1), within) == []
    assert levels(many(window=1), [*before, *within]) == [(1, "raised")]


@given(STEPS, st.integers(1, 20), st.integers(1, 20))
def test_it_has_to_hold_for_a_while(steps: list[Step], after: int, calm: int) -> None:
    expected, up, run = [], False, 0
    for second, (share, asked) in enumerate(shares(steps, 10)):
        turned = share < 0.1 if up else asked >= 10 and share >= 0.2
        run = run + 1 if turned else 0
        if run > (calm if up else after):
            up, run = not up, 0
            expected.append((second, "raised" if up else "cleared"))

    assert levels(many(after=after, calm=calm), steps) == expected


@given(STEPS, st.sets(st.integers(0, 90)))
def test_counters_that_begin_anew_do_no_harm(steps: list[Step], restarts: set[int]) -> None:
    span = Span(10.0, 0.0, (0, 0))
    kept = [0, 0]
    for second, (more, no) in enumerate(steps, 1):
        if second in restarts:
            kept = [0, 0]
        kept = [kept[0] + more, kept[1] + no]
        span.add(float(second), kept)
        last = steps[max(0, second - 10) : second]
        sums = [sum(one) for one in zip(*last, strict=True)]
        # What a counter did between its restart and the next look at it, nobody knows.
        assert all(0 <= gain <= most for gain, most in zip(span.gains, sums, strict=True))
        if not restarts & set(range(second - 10, second + 1)):
            assert [*span.gains] == sums


@given(st.lists(st.floats(0.001, 500), max_size=300), st.floats(1, 100_000))
def test_a_span_keeps_few_notes_and_reaches_back_far_enough(
    pauses: list[float], seconds: float
) -> None:
    span, now = Span(seconds, 0.0, (0,)), 0.0
    for pause in pauses:
        now += pause
        span.add(now, (now,))

        assert len(span) <= PARTS + 2
        assert span.length >= min(seconds, now) - seconds / PARTS


def test_a_clock_that_goes_back_stands_still() -> None:
    watchman = Watchman([many()])

    for second, refused in enumerate([0, 5, 50, 90]):
        told = watchman.look(reading({"api": {"refused": refused}}), 100.0 - second)

    assert (told, [one.value for one in watchman.raised]) == ([], [1.0])


def test_each_rule_is_judged_by_itself_and_only_those_that_are_named() -> None:
    names = ["api", "login", "search"]
    named, every = Watchman([many(rule=["api", "login"])]), Watchman([many()])
    for watchman in (named, every):
        for second in range(3):
            counts = {name: {"refused": 50 * second} for name in names}
            watchman.look(reading({**counts, "calm": {"allowed": 50 * second}}), float(second))

    assert [one.rule for one in named.raised] == ["api", "login"]
    assert [one.rule for one in every.raised] == names


BOUNDS = [0.1, 0.5, 1.0]
SEEN: dict[str, tuple[dict[str, Any], dict[str, Any], float, str]] = {
    "near": (
        {"rules": {"api": {"allowed": 100, "near": 60}}},
        {"above": "50%"},
        0.6,
        "x (api): 60% of the requests find most of the limit used (raised at 50%)",
    ),
    "shadowed": (
        {"rules": {"api": {"allowed": 100, "shadowed": 30}}},
        {},
        0.3,
        "x (api): 30% of the requests would be refused (raised at 20%)",
    ),
    "failed": (
        {"rules": {"api": {"allowed": 50, "failed_open": 30, "failed_closed": 20}}},
        {},
        0.5,
        "x (api): 50% of the requests are decided without the store (raised at 1%)",
    ),
    "queue": (
        {"rules": {"api": {"queue": 150}}},
        {},
        150.0,
        "x (api): 150 are waiting (raised at 100)",
    ),
    "breaker": ({"rules": {"api": {"breaker": "open"}}}, {}, 1.0, "x (api): the breaker is open"),
    "degraded": ({"store": {"degraded": True}}, {}, 1.0, "x: the store cannot be asked"),
    "reload": ({"reload": {"result": "bad"}}, {}, 1.0, "x: newer rules are bad, or cannot be read"),
    "checks": (
        {"checks": {"bounds": BOUNDS, "counts": [0, 100, 0, 0], "sum": 30.0}},
        {"quantile": "50%"},
        0.3,
        "x: the store takes 300ms to answer (raised at 10ms)",
    ),
    "latency": (
        {"routes": {"shop": {"latency": {"bounds": BOUNDS, "counts": [0, 0, 0, 100]}}}},
        {},
        1.0,
        "x (shop): answers take 1s (raised at 1s)",
    ),
    "errors": (
        {"routes": {"shop": {"requests": 200, "statuses": {"2xx": 180, "5xx": 20}}}},
        {},
        0.1,
        "x (shop): 10% of the answers are errors (raised at 5%)",
    ),
    "funds": (
        {"budget": {"entered": 100, "broken": 5}},
        {},
        0.05,
        "x: 5% of the requests run out of their budget midway (raised at 1%)",
    ),
    "restarts": (
        {"workers": [{**WORKER, "restarts": 2}]},
        {},
        2.0,
        "x: workers that fell: 2 (raised at 1)",
    ),
}


@pytest.mark.parametrize("kind", SEEN)
def test_every_kind_is_raised_and_cleared(kind: str) -> None:
    seen, terms, value, said = SEEN[kind]
    condition = Condition("x", kind, **terms)
    empty = {"latency": {"bounds": BOUNDS, "counts": [0] * 4}, "requests": 0, "statuses": {}}
    bare: dict[str, Any] = {
        "rules": {"api": {"breaker": "closed"} if kind == "breaker" else {}},
        "routes": {"shop": empty},
        "checks": {"bounds": BOUNDS, "counts": [0] * 4, "sum": 0.0},
        "budget": {"entered": 0, "broken": 0},
    }
    watchman = Watchman([condition])
    counts = kind not in ("queue", "breaker", "degraded", "reload")

    assert watchman.look(reading(**bare), 0.0) == []
    (raised,) = watchman.look(reading(**{**bare, **seen}), 1.0)
    # What was counted stays, and is no news any more; what is so is over.
    later = [watchman.look(reading(**{**bare, **(seen if counts else {})}), 2.0 + 61 * n)
             for n in range(3)]  # fmt: skip
    (cleared,) = [one for some in later for one in some]

    assert (raised.kind, raised.level, raised.since) == (kind, "raised", 1.0)
    assert raised.value == pytest.approx(value)
    assert (str(raised), cleared.level, cleared.since) == (said, "cleared", 1.0)
    assert watchman.raised == []


def test_what_is_over_is_told_with_the_number_there_is_now() -> None:
    whole = Alert("many", "refused", "api", "warning", "cleared", 1.0, 0.034, 0.2)
    state = Alert("store", "degraded", "", "critical", "cleared", 1.0, 0.0, 1.0)

    said = "many (api) is over: 3.4% of the requests are refused (raised at 20%)"
    assert [str(whole), str(state)] == [said, "store is over"]


def test_a_breaker_that_is_half_open_stays_raised() -> None:
    watchman, told = Watchman([Condition("open", "breaker")]), []
    for second, state in enumerate(
        ["half_open", "open", "half_open", "open", "half_open", "closed"]
    ):
        told += watchman.look(reading({"api": {"breaker": state}}), float(second))

    assert [(one.level, one.since) for one in told] == [("raised", 1.0), ("cleared", 1.0)]


def test_a_rule_that_is_no_more_has_nothing_to_tell() -> None:
    watchman = Watchman([many()])
    for second in range(3):
        watchman.look(reading({"api": {"refused": 50 * second}}), float(second))

    silent = watchman.look(reading(), 3.0)
    told = watchman.look(reading(version="other"), 4.0) + watchman.look(reading(), 5.0)

    assert silent == []
    assert ([(one.rule, one.level) for one in told], watchman.raised) == (
        [("api", "cleared")],
        [],
    )


def test_while_nobody_serves_nothing_else_is_judged() -> None:
    watchman = Watchman([many(), Condition("fell", "restarts")])
    for second in range(3):
        watchman.look(reading({"api": {"refused": 50 * second}}), float(second))

    told = watchman.look(reading(workers=[{**WORKER, "up": False, "restarts": 1}]), 3.0)

    assert [one.name for one in told] == ["fell"]
    assert sorted(one.name for one in watchman.raised) == ["fell", "many"]


def test_new_terms_leave_what_is_asked_for_as_before_as_it_is() -> None:
    kept, other = many(), Condition("other", "refused", least=10)
    watchman = Watchman([kept, other])
    for second in range(3):
        seen = reading({"api": {"refused": 50 * second}})
        watchman.look(seen, float(second))

    watchman.change([Condition("other", "refused", above="99%"), kept])
    told = watchman.look(seen, 3.0)

    assert [(one.name, one.level) for one in told] == [("other", "cleared")]
    assert [one.name for one in watchman.raised] == ["many"]


@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any),
    st.floats(0.01, 0.99),
)
def test_a_quantile_lies_where_it_has_to(counts: list[int], share: float) -> None:
    found = quantile(share, counts, BOUNDS)
    below = sum(count for count, bound in zip(counts, BOUNDS, strict=False) if bound < found)

    assert 0 <= found <= BOUNDS[-1]
    assert below <= share * sum(counts) + 1e-6
