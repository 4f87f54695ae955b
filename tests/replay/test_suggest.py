"""What is suggested keeps its word: it touches no more than was asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import Bulkhead, Limiter, ManualClock, TokenBucket
from headgate.replay.demand import Demands
from headgate.replay.hits import Hit
from headgate.replay.knee import Point, knee
from headgate.replay.loads import Crowd, points
from headgate.replay.survey import STEPS, UNITS, Wish, asked, bent, curve
from headgate.testing import play
from headgate.testing.queueing import Service, overload, poisson
from headgate.testing.traffic import Request

START = 1_760_000_000

VISITS = st.lists(st.tuples(st.integers(0, 30_000_000), st.integers(0, 9)), min_size=1, max_size=30)


def survey(visits: list[tuple[int, int]], wish: Wish) -> dict[str, Any]:
    """What is suggested for these visits, each at its microsecond by somebody of that number."""
    demands = Demands([*STEPS], UNITS[wish.per] * 1_000_000)
    for at, number in sorted(visits):
        demands.add(str(number) if wish.key else "", START * 1_000_000 + at)
    return asked(demands, wish)


@given(VISITS, st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from(["s", "min", "h"]))
def test_every_limit_touches_exactly_the_share_of_keys_it_says(
    visits: list[tuple[int, int]], touch: float, per: str
) -> None:
    found = survey(visits, Wish(touch=touch, per=per))

    for option in found["options"][:3]:
        limiter = Limiter(option["limit"], clock=ManualClock())
        history = play(limiter, [Request(START + at / 1e6, str(n)) for at, n in sorted(visits)])
        touched = {entry.key for entry in history if not entry.decision}
        share = len(touched) / len({n for _, n in visits})
        assert option["touched"] == pytest.approx(share)
        assert share <= touch


@given(VISITS, st.sampled_from([0.0, 0.05, 0.3]))
def test_no_limit_refuses_more_requests_than_it_may(
    visits: list[tuple[int, int]], touch: float
) -> None:
    found = survey(visits, Wish(key=(), touch=touch, keys=False, per="s"))

    for option in found["options"][:3]:
        limiter = Limiter(option["limit"], clock=ManualClock())
        history = play(limiter, [Request(START + at / 1e6) for at, _ in sorted(visits)])
        refused = sum(not entry.decision for entry in history)
        assert refused <= option["touched"] * len(visits) + 1e-9
        assert option["touched"] <= touch


@given(VISITS)
def test_the_smallest_burst_is_suggested_that_touches_nobody(
    visits: list[tuple[int, int]],
) -> None:
    found = survey(visits, Wish(touch=0.0))

    for option in found["options"][:3]:
        if option["burst"] > 1:
            limit = TokenBucket(f"{option['count']}/min", burst=option["burst"] - 1)
            limiter = Limiter(limit, clock=ManualClock())
            history = play(limiter, [Request(START + at / 1e6, str(n)) for at, n in sorted(visits)])
            assert any(not entry.decision for entry in history)


def test_how_often_keys_ask_is_told_by_share() -> None:
    visits = [(second * 1_000_000, 0) for second in range(0, 600, 10)]
    visits += [(0, number) for number in range(1, 100)]

    found = survey(visits, Wish(touch=0.01))

    assert found["busiest"]["min"] == {
        "50%": 1, "90%": 1, "95%": 1, "99%": 1, "99.9%": 6, "100%": 6
    }  # fmt: skip
    assert found["busiest"]["s"]["100%"] == 1
    assert found["rule"] == {
        "name": "suggested", "key": "client.ip", "limit": "1/min burst 1", "mode": "shadow"
    }  # fmt: skip


def test_of_too_many_keys_a_part_is_followed_from_its_first_request_on() -> None:
    demands = Demands([1], 1_000_000, kept=100)
    for turn in range(3):
        for number in range(1000):
            demands.add(str(number), START * 1_000_000 + turn)

    counts = Counter(demand.asked for demand in demands.keys.values())
    found = asked(demands, Wish())

    assert counts == {3: len(demands.keys)}
    assert 50 <= len(demands.keys) <= 100
    assert (found["sampled"], 700 < found["keys"] < 1400) == (True, True)
    assert 0.005 < found["error"] < 0.04


def closed(workers: int, latency: float, clients: int) -> Point:
    """How a service does with so many clients who ask again at once."""
    service = Service(workers=workers, latency=latency, noise=0.1)
    door = Bulkhead(clients, queue=0, clock=ManualClock())
    # More than it can ever serve: as many are inside as may.
    run = overload(door, service, poisson(workers / latency * 3), 15.0)
    served = [took for at, took in run.served if at > 3.0]
    return Point(clients, run.goodput(since=3.0), sum(served) / len(served))


@pytest.mark.parametrize(("workers", "latency"), [(8, 0.4), (20, 1.0)])
def test_the_knee_is_where_all_workers_are_busy(workers: int, latency: float) -> None:
    loads = [2, 4, 8, 12, 20, 24, 32, 48]

    found = knee([closed(workers, latency, clients) for clients in loads])

    assert found is not None
    assert found.concurrency == pytest.approx(workers, rel=0.1)
    assert found.latency == pytest.approx(latency, rel=0.1)
    assert found.throughput == pytest.approx(workers / latency, rel=0.1)
    assert found.flaw == ""


def test_a_load_that_never_was_too_much_has_no_knee_to_rely_on() -> None:
    found = bent([], knee([Point(n, n * 10, 0.1) for n in (1, 2, 4, 8)]))

    assert found["flaws"] == [
        "latency rises by less than 50% up to 8 at once: the knee is beyond what was tried"
    ]
    assert found["rule"] == {"name": "suggested", "adaptive": "vegas", "mode": "shadow"}


def test_a_load_that_always_was_too_much_has_none_either() -> None:
    found = knee([Point(n, 10, n / 10) for n in (10, 20, 40, 80)])

    assert found is not None
    assert found.flaw == (
        "latency rises from the first point on, at 10 at once: the knee is below what was tried"
    )


def test_three_points_are_too_few() -> None:
    assert bent([], knee([Point(n, n, 1.0) for n in (1, 2, 3)]))["flaws"] == [
        "there are too few points; it takes four loads of different sizes"
    ]


def logged(workers: int, seconds: int) -> list[Hit]:
    """The log of a service that is driven harder and harder, until most have to wait."""
    hits = []
    free = [0.0] * workers
    at, number = 0.0, 0
    while at < seconds:
        at += 1 / (workers / 0.1 * (0.2 + 1.2 * at / seconds))
        number += 1
        place = free.index(min(free))
        begun = max(at, free[place])
        free[place] = begun + 0.1 + 0.02 * ((number * 7 % 11) / 11 - 0.5)
        hit = Hit()
        hit.at = START * 1_000_000 + round(at * 1e6)
        hit.took = round((free[place] - at) * 1e6)
        hits.append(hit)
    return hits


def test_a_log_with_durations_has_a_knee() -> None:
    crowd = Crowd()
    crowd.add(logged(10, 60))

    found = curve(crowd)

    assert found is not None
    assert found["concurrency"] == pytest.approx(10, rel=0.15)
    assert found["latency"] == pytest.approx(0.1, rel=0.1)


def test_a_knee_that_moves_is_no_number_to_rely_on() -> None:
    crowd = Crowd()
    later = logged(24, 60)
    for hit in later:
        hit.at += 60_000_000
    crowd.add([*logged(6, 60), *later])

    found = curve(crowd)

    assert found is not None
    assert found["flaws"][-1] == "the knee moves with time, between 7 and 25 at once"
    assert found["rule"]["adaptive"] == "vegas"


def test_whole_seconds_do_not_tell_who_was_inside_together() -> None:
    crowd = Crowd()
    for hit in logged(10, 10):
        hit.at = hit.at // 1_000_000 * 1_000_000 - hit.took
        crowd.add([hit])

    found = curve(crowd)

    assert found is not None
    assert found["flaws"] == [
        "stamps are whole seconds, so nobody can tell who was inside at the same time; write them "
        "with milliseconds, as $msec does"
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("concurrency,throughput,latency\n4,20,0.2\n", Point(4, 20, 0.2)),
        ("connections,latency_ms\n4,200\n", Point(4, 20, 0.2)),
        ("rps,p50_ms\n20,200\n", Point(4, 20, 0.2)),
        (
            "Timestamp,User Count,Type,Name,Requests/s,50%,99%\n"
            "1,4,GET,/a,9,100,1\n1,4,,Aggregated,20,200,1\n",
            Point(4, 20, 0.2),
        ),
        ('[{"vus": 4, "rps": 20, "avg_ms": 200}]', Point(4, 20, 0.2)),
        ('{"rate": 30, "throughput": 20, "latencies": {"50th": 200000000}}\n', Point(4, 20, 0.2)),
    ],
    ids=["plain", "milliseconds", "Little", "Locust", "JSON", "Vegeta"],
)
def test_results_of_load_tests_are_read(text: str, wanted: Point) -> None:
    assert [tuple(map(pytest.approx, wanted))] == [tuple(one) for one in points(text, "a")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a: no rows stand in it"),
        (
            "users,errors\n4,0\n",
            "a: no row has latency (in seconds; latency_ms is in milliseconds), and concurrency or "
            "throughput; its columns are users, errors",
        ),
        ("[{", "the result of a load test is no JSON: Expecting property name enclosed in double "
         "quotes: line 1 column 3 (char 2)"),
    ],
)  # fmt: skip
def test_a_result_that_says_too_little_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        points(text, "a")

    assert str(caught.value) == message
