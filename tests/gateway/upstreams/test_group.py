"""Group: a request goes to whoever has least to do, or to whom its key belongs, if they can."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.clock import ManualClock
from headgate.gateway.upstreams.group import Group, budget
from headgate.gateway.upstreams.server import Server
from headgate.rules.matching.request import Request
from headgate.rules.model.upstream import Retries, Upstream
from headgate.window import FAILURE
from tests.gateway.upstreams.cable import Cable

SECOND = 1_000_000
ANYBODY = Request()
BREAKER = {"failures": 1.0, "calls": 1, "pause": 5.0}
HASH = {"balance": "hash", "key": "header.x-user"}


def group(count: int, **terms: Any) -> Group:
    servers = [f"http://10.0.0.{number}:9000" for number in range(count)]
    return Group("shop", Upstream(servers, **terms), ManualClock())


def user(name: str) -> Request:
    return Request(headers={"x-user": name})


def chosen(group: Group, count: int, request: Request = ANYBODY) -> list[int]:
    """Which servers are picked one after another, while nobody does anything."""
    picked = [group.pick(request, 0) for _ in range(count)]
    return [group.servers.index(server) for server in picked if server is not None]


def break_down(server: Server, now: int = 0) -> None:
    server.leave(server.enter(now), FAILURE, now, 0)


def fall_ill(group: Group, *numbers: int) -> None:
    for number in numbers:
        pulse = group.servers[number].pulse
        assert pulse is not None
        pulse.well = False
    group.settle()


def test_one_server_has_all_requests() -> None:
    alone = group(1)

    assert chosen(alone, 3) == [0, 0, 0]
    assert alone.pick(ANYBODY, 0, alone.servers) is alone.servers[0]


@pytest.mark.parametrize(
    ("busy", "picked"),
    [
        ([0, 0, 0], [0, 1, 2, 0, 1, 2]),
        ([1, 1, 1], [0, 1, 2, 0, 1, 2]),
        ([2, 1, 3], [1, 1, 1]),
        ([1, 0, 0], [1, 2, 1, 2]),
        ([5, 9, 5], [0, 2, 0, 2]),
    ],
)
def test_whoever_has_least_to_do_is_picked_and_those_alike_in_turn(
    busy: list[int], picked: list[int]
) -> None:
    servers = group(3)
    for server, number in zip(servers.servers, busy, strict=True):
        server.busy = number

    assert chosen(servers, len(picked)) == picked


@given(st.integers(2, 5), st.lists(st.booleans(), max_size=60))
def test_nobody_ever_has_more_to_do_than_another_who_could_have_been_picked(
    count: int, steps: list[bool]
) -> None:
    servers = group(count)
    under_way: list[Server] = []
    for come in steps:
        if come:
            server = servers.pick(ANYBODY, 0)
            assert server is not None
            assert server.busy == min(one.busy for one in servers.servers)
            server.lend()
            under_way.append(server)
        elif under_way:
            under_way.pop(len(under_way) // 2).drop()


def test_a_server_that_was_tried_is_asked_again_only_if_nobody_else_can() -> None:
    servers = group(3)
    first, second, third = servers.servers

    assert servers.pick(ANYBODY, 0, [first, third]) is second
    assert servers.pick(ANYBODY, 0, {first, second, third}) is not None
    third.down = second.down = True
    assert servers.pick(ANYBODY, 0, [first]) is first


def test_who_is_full_is_passed_over_and_where_all_are_nobody_is_picked() -> None:
    servers = group(2, connections=1)
    servers.servers[0].lend()
    assert chosen(servers, 2) == [1, 1]

    servers.servers[1].lend()

    assert (chosen(servers, 2), servers.wait(0)) == ([], 0)


def test_a_key_always_goes_to_the_same_server() -> None:
    servers = group(5, **HASH)
    homes = {str(number): chosen(servers, 3, user(str(number))) for number in range(200)}

    assert all(len({*picked}) == 1 for picked in homes.values())
    shares = Counter(picked[0] for picked in homes.values())
    assert set(shares) == {0, 1, 2, 3, 4}


def test_a_key_goes_to_the_same_server_however_busy_it_is() -> None:
    servers = group(3, **HASH)
    [home] = chosen(servers, 1, user("ada"))
    servers.servers[home].busy = 100

    assert chosen(servers, 1, user("ada")) == [home]


def test_while_its_server_cannot_a_key_goes_to_another_which_is_always_the_same() -> None:
    servers = group(5, **HASH)
    homes = {str(number): chosen(servers, 1, user(str(number)))[0] for number in range(200)}

    servers.servers[2].down = True

    away = {name: {*chosen(servers, 3, user(name))} for name in homes}
    stayed = {name for name, home in homes.items() if away[name] == {home}}
    assert stayed == {name for name, home in homes.items() if home != 2}
    assert all(len(picked) == 1 for picked in away.values())
    moved = Counter(at for name in homes.keys() - stayed for at in away[name])
    assert set(moved) == {0, 1, 3, 4}


def test_a_key_whose_server_was_tried_goes_to_the_next() -> None:
    servers = group(3, **HASH)
    first = servers.pick(user("ada"), 0)
    assert first is not None
    second = servers.pick(user("ada"), 0, [first])
    assert second is not None
    third = servers.pick(user("ada"), 0, [first, second])

    assert {first, second, third} == {*servers.servers}
    assert servers.pick(user("ada"), 0, [*servers.servers]) is first


def test_a_request_without_a_key_goes_to_whoever_has_least_to_do() -> None:
    servers = group(3, **HASH)
    servers.servers[1].busy = 1

    assert chosen(servers, 4) == [0, 2, 0, 2]


def test_a_server_whose_breaker_is_open_is_passed_over() -> None:
    servers = group(3, breaker=BREAKER)
    break_down(servers.servers[1])

    assert chosen(servers, 4) == [0, 2, 0, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_where_all_breakers_are_open_nobody_is_picked_until_the_first_lets_one_in(
    count: int,
) -> None:
    servers = group(count, breaker=BREAKER)
    for number, server in enumerate(servers.servers):
        break_down(server, number * SECOND)

    assert servers.pick(ANYBODY, count * SECOND) is None
    soon = count * SECOND + servers.wait(count * SECOND)
    assert 4.5 * SECOND <= soon <= 5.5 * SECOND
    assert servers.pick(ANYBODY, soon - 1) is None
    assert servers.pick(ANYBODY, soon) is servers.servers[0]


def test_a_server_that_is_not_well_is_passed_over() -> None:
    servers = group(3, health="/healthz")

    fall_ill(servers, 0, 2)

    assert chosen(servers, 3) == [1, 1, 1]


def test_where_no_server_is_well_all_are_asked() -> None:
    servers = group(3, health="/healthz")
    fall_ill(servers, 0, 2)

    fall_ill(servers, 1)

    assert chosen(servers, 3) == [0, 1, 2]
    pulse = servers.servers[2].pulse
    assert pulse is not None
    pulse.well = True
    servers.settle()
    assert chosen(servers, 3) == [2, 2, 2]


def test_where_no_server_is_well_an_open_breaker_is_still_believed() -> None:
    servers = group(2, health="/healthz", breaker=BREAKER)
    fall_ill(servers, 0, 1)
    break_down(servers.servers[0])
    assert chosen(servers, 2) == [1, 1]

    break_down(servers.servers[1])

    assert chosen(servers, 2) == []


def test_the_wait_is_that_of_servers_that_are_not_down() -> None:
    servers = group(2, health="/healthz", breaker=BREAKER)
    break_down(servers.servers[1])

    fall_ill(servers, 0)

    assert servers.wait(0) > 4 * SECOND


def test_a_sweep_closes_what_nobody_has_used_for_long_at_every_server() -> None:
    servers = group(2, idle="4s")
    cables = [Cable(), Cable()]
    for server, cable in zip(servers.servers, cables, strict=True):
        server.lend()
        server.keep(cable)
    servers.sweep(SECOND)
    servers.sweep(5 * SECOND - 1)
    assert [cable.closed for cable in cables] == [0, 0]

    servers.sweep(5 * SECOND)

    assert [cable.closed for cable in cables] == [1, 1]


@pytest.mark.parametrize(
    ("breaker", "faults"), [(True, {502, 503, 504}), ({"status": [500]}, {500}), (False, set())]
)
def test_the_breakers_terms_say_which_answers_are_faults(breaker: Any, faults: set[int]) -> None:
    assert group(1, breaker=breaker).faults == faults


def test_without_terms_for_a_breaker_there_is_none() -> None:
    assert group(1, breaker=False).servers[0].breaker is None


def test_every_server_has_a_breaker_of_its_own_that_is_called_after_it() -> None:
    first, second = group(2).servers
    assert first.breaker is not None
    assert second.breaker is not None

    names = [first.breaker.name, second.breaker.name]
    assert names == ["shop http://10.0.0.0:9000", "shop http://10.0.0.1:9000"]


def test_a_share_of_the_requests_may_be_sent_again(clock: ManualClock) -> None:
    found = budget(Retries(1, "20%"), clock)
    assert found is not None
    for _ in range(50):
        found.count()

    assert [found.take() for _ in range(11)] == [True] * 10 + [False]
    assert budget(Retries(0), clock) is None


def test_the_status_of_a_group_is_that_of_its_servers() -> None:
    servers = group(2, health="/healthz")
    fall_ill(servers, 0)

    told = servers.status()

    assert told == {server.name: server.status() for server in servers.servers}
    assert [one["well"] for one in told.values()] == [False, True]
    assert repr(servers) == "<Group 'shop': 2 servers>"
