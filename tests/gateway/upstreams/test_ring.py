"""Ring: keys are spread evenly, alike everywhere, and few move when a server comes or goes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate
from headgate.gateway.upstreams.ring import Ring

KEYS = [f"user:{number}" for number in range(10_000)]
NAMES = st.lists(st.text(max_size=20), min_size=1, max_size=8, unique=True)


def servers(count: int) -> list[str]:
    return [f"http://10.0.0.{number}:9000" for number in range(count)]


@given(NAMES, st.text())
def test_every_server_is_found_once_and_the_first_first(names: list[str], key: str) -> None:
    ring = Ring(names)
    found = [*ring.find(key)]

    assert sorted(found) == [*range(len(names))]
    assert found[0] == ring.first(key)


@given(NAMES, st.text(), st.randoms())
def test_the_order_of_the_servers_does_not_matter(names: list[str], key: str, luck: Random) -> None:
    other = luck.sample(names, len(names))
    mine, others = Ring(names).find(key), Ring(other).find(key)

    assert [names[at] for at in mine] == [other[at] for at in others]


@given(st.lists(st.text(max_size=20), min_size=2, max_size=8, unique=True), st.text())
def test_only_the_keys_of_a_server_that_goes_move_and_to_the_next(
    names: list[str], key: str
) -> None:
    order = [names[at] for at in Ring(names).find(key)]
    for gone in names:
        left = [name for name in names if name != gone]

        assert [left[at] for at in Ring(left).find(key)] == [one for one in order if one != gone]


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30, 100])
def test_a_server_that_comes_takes_about_its_share_of_the_keys(count: int) -> None:
    before, after = Ring(servers(count - 1)), Ring(servers(count))
    moved = [key for key in KEYS if before.first(key) != after.first(key)]

    assert {after.first(key) for key in moved} == {count - 1}
    assert 0.6 < len(moved) / len(KEYS) * count < 1.5


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30, 100])
def test_no_server_has_much_more_or_less_than_its_share(count: int) -> None:
    shares = [share * count for share in arcs(Ring(servers(count)))]

    assert min(shares) > 0.65
    assert max(shares) < 1.4


def test_more_points_spread_more_evenly() -> None:
    rough, fine = (arcs(Ring(servers(10), points)) for points in (10, 1000))

    assert max(fine) - min(fine) < (max(rough) - min(rough)) / 3


def test_keys_fall_as_the_arcs_have_it() -> None:
    ring = Ring(servers(5))
    counts = Counter(map(ring.first, KEYS))

    assert [counts[at] / len(KEYS) for at in range(5)] == pytest.approx(arcs(ring), abs=0.02)


def test_every_process_has_the_same_ring() -> None:
    program = (
        "import sys\n"
        "from headgate.gateway.upstreams.ring import Ring\n"
        f"ring = Ring({servers(5)!r})\n"
        "sys.stdout.write(','.join(str(ring.first(f'user:{n}')) for n in range(50)))"
    )
    source = Path(headgate.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "1"}
    other = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert other.stdout == ",".join(str(Ring(servers(5)).first(key)) for key in KEYS[:50])


def test_the_ring_is_the_same_in_every_release() -> None:
    ring = Ring(["a", "b", "c", "d"])

    assert "".join("abcd"[ring.first(key)] for key in KEYS[:20]) == "acdbacbbaddadadaacca"


@given(st.integers(1, 8), st.lists(st.sampled_from(KEYS[:5]), max_size=100))
def test_with_loads_no_server_gets_more_than_a_quarter_above_the_mean(
    count: int, keys: list[str]
) -> None:
    ring = Ring(servers(count))
    loads = [0] * count
    for number, key in enumerate(keys, start=1):
        loads[next(ring.find(key, loads))] += 1

        assert max(loads) <= -(-5 * number // (4 * count))


@pytest.mark.parametrize(
    ("home", "other", "stays"),
    [(0, 0, True), (0, 9, True), (1, 0, True), (2, 0, False), (2, 1, True), (4, 1, False)],
)
def test_a_key_stays_where_it_belongs_up_to_a_quarter_above_the_mean(
    home: int, other: int, stays: bool
) -> None:
    ring = Ring(servers(2))
    mine = ring.first("key")
    loads = [home, other] if mine == 0 else [other, home]

    assert (next(ring.find("key", loads)) == mine) == stays


def test_those_with_too_much_to_do_come_last() -> None:
    ring = Ring(servers(4))
    order = [*ring.find("key")]
    loads = [0] * 4
    loads[order[0]] = loads[order[2]] = 9

    assert [*ring.find("key", loads)] == [order[1], order[3], order[0], order[2]]


def test_without_anything_to_do_loads_change_nothing() -> None:
    ring = Ring(servers(4))

    assert [*ring.find("key", [0] * 4)] == [*ring.find("key")]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "Ring: there is at least one server"),
        (["a", "b", "a"], "Ring: every server stands there once, but 'a' does twice"),
    ],
)
def test_a_ring_has_servers_that_differ(names: list[str], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        Ring(names)

    assert str(caught.value) == said


def arcs(ring: Ring) -> list[float]:
    """The share of the circle that each server has, in the order of the servers."""
    found: Counter[int] = Counter()
    before = ring._points[-1] - (1 << 64)
    for point, owner in zip(ring._points, ring._owners, strict=True):
        found[owner] += point - before
        before = point
    return [found[at] / (1 << 64) for at in sorted(found)]
