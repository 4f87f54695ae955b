"""The ring: what was between two readings, as points that a page can draw."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.dashboard.ring import BUSIEST, Ring, quantile
from headgate.rules.model.rules import Rules
from headgate.telemetry.survey import blank

RULE = dict.fromkeys(
    ("allowed", "delayed", "refused", "shadowed", "failed_open", "failed_closed"), 0
)
BOUNDS = [0.01, 0.1, 1.0]


def reading(at: float, rules: dict[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A reading at so many seconds, of rules that have counted this."""
    found: dict[str, Any] = {**blank(Rules(), "gateway", 0), "at": at}
    for name, counts in rules.items():
        found["rules"][name] = {**RULE, "limit": None, "inside": 0, "waiting": 0, **counts}
    return {**found, **more}


def test_the_first_reading_makes_no_point() -> None:
    assert Ring().add(reading(1.0, {"api": {"allowed": 7}})) is None


def test_a_point_is_what_was_added_and_names_only_rules_that_did_something() -> None:
    ring = Ring()
    ring.add(reading(1.0, {"api": {"allowed": 7}, "calm": {"allowed": 1}}))

    point = ring.add(
        reading(
            3.0,
            {
                "api": {"allowed": 10, "refused": 2, "failed_open": 1, "failed_closed": 4},
                "calm": {"allowed": 1},
            },
        )
    )

    assert point is not None
    assert point["rules"] == {"api": [3, 0, 2, 0, 5]}
    assert (point["n"], point["at"], point["span"]) == (1, 3.0, 2.0)


def test_who_counts_less_than_before_has_begun_anew() -> None:
    ring = Ring()
    ring.add(reading(1.0, {"api": {"allowed": 70}}))

    point = ring.add(reading(2.0, {"api": {"allowed": 4}}))

    assert point is not None
    assert point["rules"] == {"api": [4, 0, 0, 0, 0]}


def test_a_rule_on_trial_is_counted_beside_those_in_force() -> None:
    ring = Ring()
    trial = {"name": "trial", "allowed": 0, "shadowed": 0}
    ring.add(reading(1.0, {}, trial=trial))

    point = ring.add(reading(2.0, {}, trial={**trial, "allowed": 5, "shadowed": 2}))

    assert point is not None
    assert (point["trial"], point["rules"]) == ("trial", {"trial": [7, 0, 0, 2, 0]})


def test_of_very_many_rules_a_point_has_the_busiest() -> None:
    ring = Ring()
    many = {f"rule-{number}": {"allowed": number} for number in range(BUSIEST + 50)}
    ring.add(reading(1.0, {name: {} for name in many}))

    point = ring.add(reading(2.0, many))

    assert point is not None
    assert [*point["rules"]][:2] == ["rule-149", "rule-148"]
    assert len(point["rules"]) == BUSIEST


def test_limits_that_move_are_told_with_who_is_in() -> None:
    ring = Ring()
    ring.add(reading(1.0, {}))

    point = ring.add(reading(2.0, {"busy": {"limit": 12, "inside": 9, "waiting": 1}, "api": {}}))

    assert point is not None
    assert point["limits"] == {"busy": [12, 9, 1]}


def test_how_long_answers_took_is_that_of_the_last_seconds() -> None:
    ring = Ring()

    def at(second: float, counts: list[int]) -> Any:
        latency = {"bounds": BOUNDS, "counts": counts, "sum": 0.0}
        routes = {"all": {"requests": sum(counts), "statuses": {}, "latency": latency}}
        return ring.add(reading(second, {}, routes=routes))

    at(0.0, [100, 0, 0, 0])
    first = at(1.0, [100, 10, 0, 0])
    for second in range(2, 7):
        last = at(float(second), [100, 10, 0, 0])

    assert (first["requests"], first["latency"]) == (10, pytest.approx([0.055, 0.0991]))
    assert (last["requests"], last["latency"]) == (0, None)


def test_what_lies_beyond_the_last_bound_is_told_as_that() -> None:
    assert quantile(BOUNDS, [0, 0, 0, 5], 0.5) == 1.0


def test_a_page_is_told_what_it_does_not_know() -> None:
    ring = Ring(longest=3)
    for second in range(6):
        ring.add(reading(float(second), {}))

    assert [point["n"] for point in ring.since("")] == [3, 4, 5]
    assert [point["n"] for point in ring.since(f"{ring.mark}-4")] == [5]
    # Another process counted those.
    assert [point["n"] for point in ring.since("00000000-4")] == [3, 4, 5]
    assert [point["n"] for point in ring.since(f"{ring.mark}-x")] == [3, 4, 5]
    assert ring.name == f"{ring.mark}-5"


def test_where_no_worker_answered_for_a_moment_all_was_not_counted_anew_in_a_second() -> None:
    ring = Ring()
    ring.add(reading(1.0, {"api": {"allowed": 70_000}}))
    nobody = ring.add(reading(2.0, {}))

    point = ring.add(reading(3.0, {"api": {"allowed": 70_004}, "new": {"refused": 2}}))

    assert nobody is not None
    assert point is not None
    assert nobody["rules"] == {}
    assert point["rules"] == {"api": [4, 0, 0, 0, 0], "new": [0, 0, 2, 0, 0]}


def test_where_the_clock_was_put_back_no_point_is_later_than_the_latest() -> None:
    ring = Ring()
    for second in (100.0, 101.0, 102.0):
        ring.add(reading(second, {"api": {"allowed": int(second)}}))

    point = ring.add(reading(100.5, {"api": {"allowed": 110}}))

    assert point is not None
    assert (point["span"], point["rules"]) == (1.0, {"api": [8, 0, 0, 0, 0]})
    assert [one["at"] for one in ring.since("")] == [100.5]
