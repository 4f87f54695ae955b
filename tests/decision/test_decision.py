"""A decision is a small value: true when allowed, equal by value, printed as you would type it."""

from __future__ import annotations

import copy
import pickle
from math import inf

import pytest

import headgate
from headgate import Decision, Limiter, ManualClock

ALLOWED = Decision(True, 10, 6, 0.0, 0.4, "10/s")
BOOKED = Decision(True, 10, 0, 0.3, 1.3, "10/s")
REFUSED = Decision(False, 10, 2, 0.3, 0.8, "10/s")
NEVER = Decision(False, 10, 6, inf, 0.4, "10/s")
EVERY = pytest.mark.parametrize(
    "decision", [ALLOWED, BOOKED, REFUSED, NEVER, Decision(True), Decision(True, degraded=True)],
    ids=repr,
)  # fmt: skip


def test_a_decision_is_true_when_allowed() -> None:
    assert [bool(one) for one in (ALLOWED, BOOKED, REFUSED, NEVER)] == [True, True, False, False]
    assert [one.allowed for one in (ALLOWED, REFUSED)] == [True, False]


def test_the_fields_are_what_was_decided() -> None:
    assert (
        REFUSED.limit, REFUSED.remaining, REFUSED.retry_after, REFUSED.reset_after,
        REFUSED.rule, REFUSED.degraded,
    ) == (10, 2, 0.3, 0.8, "10/s", False)  # fmt: skip


def test_the_reason_says_which_of_the_two_kinds_of_no_it_is() -> None:
    assert [one.reason for one in (ALLOWED, BOOKED, REFUSED, NEVER)] == ["", "", "limit", "never"]


def test_what_will_never_fit_is_infinitely_far_away() -> None:
    assert NEVER.retry_after == inf


def test_an_unlimited_decision_has_all_there_is() -> None:
    free = Decision(True)

    assert (free.limit, free.remaining, free.retry_after, free.reset_after, free.rule) == (
        2**53 - 1, 2**53 - 1, 0.0, 0.0, "",
    )  # fmt: skip


@EVERY
def test_a_decision_equals_one_of_the_same_fields(decision: Decision) -> None:
    twin = copy.copy(decision)

    assert twin == decision
    assert hash(twin) == hash(decision)
    assert twin is not decision


@pytest.mark.parametrize(
    "other",
    [
        Decision(False, 10, 6, 0.0, 0.4, "10/s"),
        Decision(True, 11, 6, 0.0, 0.4, "10/s"),
        Decision(True, 10, 5, 0.0, 0.4, "10/s"),
        Decision(True, 10, 6, 0.1, 0.4, "10/s"),
        Decision(True, 10, 6, 0.0, 0.5, "10/s"),
        Decision(True, 10, 6, 0.0, 0.4, "11/s"),
        Decision(True, 10, 6, 0.0, 0.4, "10/s", degraded=True),
        True,
        "10/s",
        None,
    ],
)
def test_every_field_tells_decisions_apart(other: object) -> None:
    assert other != ALLOWED


def test_a_refusal_for_ever_is_not_a_refusal_for_now() -> None:
    assert Decision(False, 10, 6, 0.0, 0.4) != Decision(False, 10, 6, inf, 0.4)


def test_decisions_are_counted_in_sets() -> None:
    assert len({ALLOWED, copy.copy(ALLOWED), REFUSED, NEVER}) == 3


def test_a_decision_prints_as_you_would_type_it() -> None:
    assert repr(REFUSED) == (
        "Decision(allowed=False, limit=10, remaining=2, retry_after=0.3, reset_after=0.8, "
        "rule='10/s', degraded=False)"
    )


@EVERY
def test_what_is_printed_makes_the_same_decision(decision: Decision) -> None:
    made = eval(repr(decision), {"Decision": Decision, "inf": inf})

    assert (made, made.reason) == (decision, decision.reason)


@EVERY
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_decision_crosses_processes(decision: Decision, protocol: int) -> None:
    made = pickle.loads(pickle.dumps(decision, protocol))

    assert (made, made.reason) == (decision, decision.reason)


def test_a_decision_of_a_limiter_equals_one_that_was_typed(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)

    assert limiter.take("a", 4) == ALLOWED
    assert pickle.loads(pickle.dumps(limiter.peek("a", 11))) == NEVER


def test_seconds_come_back_to_the_microsecond() -> None:
    far = Decision(False, 1, 0, 3155760000.000001, 0.000001)

    assert (far.retry_after, far.reset_after) == (3155760000.000001, 0.000001)


@pytest.mark.skipif(not headgate.COMPILED, reason="only compiled decisions cannot be written to")
@pytest.mark.parametrize(
    "field",
    ["allowed", "limit", "remaining", "retry_after", "reset_after", "reason", "rule", "degraded"],
)
def test_a_decision_cannot_be_changed(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(copy.copy(ALLOWED), field, 0)


def test_a_decision_has_no_room_for_anything_else() -> None:
    with pytest.raises(AttributeError):
        copy.copy(ALLOWED).note = "x"  # type: ignore[attr-defined]
