"""The simulation shows what the simulator of the tests would, and only so much of it."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from headgate import FixedWindow, Limiter, ManualClock, SlidingLog, TokenBucket
from headgate.dashboard.simulation import MOST, PARTS, edges, play, read
from headgate.testing import admitted, most_in_any
from headgate.testing import play as simulate


def played(**said: Any) -> dict[str, dict[str, Any]]:
    """What came of it, by the names of algorithms."""
    return {one["name"]: one for one in play(read(said))["algorithms"]}


@pytest.mark.parametrize("kind", ["steady", "visitors", "bursts", "edges", "surge"])
def test_what_went_in_is_what_the_simulator_of_tests_counts(kind: str) -> None:
    said = {"rate": "10/s burst 20", "kind": kind, "mean": 30, "seconds": 9}
    found = play(read(said))
    moments = [
        place * found["width"] for place, count in enumerate(found["asked"]) for _ in range(count)
    ]
    assert len(moments) == found["requests"]

    # The same traffic by the simulator, at the moments themselves.
    from headgate.dashboard import simulation

    exact = sorted(round(one, 6) for one in simulation.KINDS[kind](read(said)))
    for limit in (TokenBucket("10/s burst 20"), FixedWindow("10/s"), SlidingLog("10/s")):
        history = simulate(Limiter(limit, clock=ManualClock()), [(at, "", 1) for at in exact])
        one = next(each for each in found["algorithms"] if each["name"] == type(limit).__name__)
        assert one["allowed"] == admitted(history)
        assert one["most"] == most_in_any(history, 1.0)
        assert sum(one["parts"]) == one["allowed"]
        assert len(one["parts"]) == PARTS


def test_at_the_edges_of_windows_a_fixed_window_lets_in_twice_as_many() -> None:
    found = played(rate="10/s", kind="edges", mean=10, seconds=10)

    assert (found["FixedWindow"]["most"], found["SlidingLog"]["most"]) == (20, 10)


def test_windows_have_no_burst() -> None:
    found = played(rate="10/s burst 20")

    assert found["TokenBucket"]["spelled"] == 'TokenBucket("10/s burst 20")'
    assert found["SlidingLog"]["spelled"] == 'SlidingLog("10/s")'


def test_nobody_can_have_more_simulated_than_there_is_time_for() -> None:
    found = play(read({"rate": "5/day", "kind": "edges", "mean": 5, "seconds": 60}))

    assert found["requests"] == MOST


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"rate": "often"}, 'rate: rate "often": expected a count but found "often" at column 1; '
                            "try 100/min or unlimited"),
        ({"rate": "unlimited"}, "rate: lets in some, and not all, such as 10/s burst 20"),
        ({"kind": "<b>"}, "kind: is steady, visitors, bursts, edges, surge, not <b>"),
        ({"mean": "x"}, "mean: is a number, not x"),
        ({"mean": float("nan")}, "mean: is from 0.001 to 20,000, not nan"),
        ({"mean": 0}, "mean: is from 0.001 to 20,000, not 0"),
        ({"seconds": 1e9}, "seconds: is from 1 to 86,400, not 1e+09"),
        ({"mean": 1000, "seconds": 100}, "mean: 100,000 requests in all are more than 20,000"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_is_told(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=None) as caught:
        read(said)

    assert str(caught.value) == problem


def test_windows_without_number_are_not_listed_before_anybody_comes() -> None:
    traffic = read({"kind": "edges", "rate": "1/ms", "mean": 0.1, "seconds": 86_400})

    first = [*islice(edges(traffic), 4)]

    assert first == pytest.approx([0.000999, 0.001, 0.002999, 0.003])
