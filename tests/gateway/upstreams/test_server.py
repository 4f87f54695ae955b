"""Server: connections are lent, kept and dropped, and requests go where they may."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.breakers.breaker import Breaker
from headgate.breakers.judge import IGNORED
from headgate.clock import ManualClock
from headgate.gateway.upstreams.server import Server
from headgate.rules.model.place import address
from headgate.window import FAILURE, SUCCESS, TIMEOUT
from tests.gateway.upstreams.cable import Cable

SECOND = 1_000_000
HERE = address("http://10.0.0.1:9000")


@pytest.fixture
def server() -> Server:
    return Server(HERE, span=4 * SECOND)


def stored(server: Server, count: int) -> list[Cable]:
    """Connections that were used, and are idle now."""
    cables = [Cable() for _ in range(count)]
    for _ in cables:
        server.lend()
    for cable in cables:
        server.keep(cable)
    return cables


def test_the_connection_that_was_used_last_is_lent_first(server: Server) -> None:
    first, second = stored(server, 2)

    assert [server.lend(), server.lend(), server.lend()] == [second, first, None]
    assert (server.busy, server.idle) == (3, [])


def test_what_is_dropped_is_closed_and_not_lent_again(server: Server) -> None:
    [cable] = stored(server, 1)
    server.lend()

    server.drop(cable)

    assert (cable.closed, server.busy, server.lend()) == (1, 0, None)


def test_a_connection_that_could_not_be_opened_is_not_in_use(server: Server) -> None:
    server.lend()

    server.drop()

    assert server.busy == 0


def test_a_connection_that_the_other_side_closed_is_not_lent(server: Server) -> None:
    first, second, third = stored(server, 3)

    server.forget(second)
    server.forget(second)

    assert [server.lend(), server.lend(), server.lend()] == [third, first, None]
    assert second.closed == 0


def test_what_nobody_has_used_for_long_is_closed(server: Server) -> None:
    old = stored(server, 2)
    server.sweep(10 * SECOND)
    server.sweep(12 * SECOND)
    young = Cable()
    server.busy += 1
    server.keep(young)
    server.sweep(13 * SECOND)
    assert server.idle == [*old, young]

    server.sweep(14 * SECOND - 1)
    assert server.idle == [*old, young]
    server.sweep(14 * SECOND)
    assert [cable.closed for cable in [*old, young]] == [1, 1, 0]
    server.sweep(17 * SECOND - 1)
    assert server.idle == [young]
    server.sweep(17 * SECOND)
    assert (server.idle, young.closed) == ([], 1)


def test_what_was_used_again_is_as_young_as_any(server: Server) -> None:
    [cable] = stored(server, 1)
    server.sweep(10 * SECOND)
    server.keep(server.lend())
    server.sweep(13 * SECOND)

    server.sweep(16 * SECOND)

    assert (server.idle, cable.closed) == ([cable], 0)


def test_without_time_to_be_idle_nothing_is_kept() -> None:
    server = Server(HERE, span=0)
    [cable] = stored(server, 1)

    assert (server.idle, server.busy, cable.closed) == ([], 0, 1)


def test_a_server_that_is_down_keeps_no_connection(server: Server) -> None:
    server.down = True
    [cable] = stored(server, 1)

    assert (server.idle, server.busy, cable.closed) == ([], 0, 1)


def test_a_closed_server_closes_what_is_idle_now_and_the_rest_as_it_comes_back(
    server: Server,
) -> None:
    first, second = stored(server, 2)
    server.lend()

    server.close()

    assert (first.closed, second.closed) == (1, 0)
    server.keep(second)
    assert (server.idle, server.busy, second.closed) == ([], 0, 1)


@pytest.mark.parametrize(
    ("most", "busy", "full"), [(0, 10_000, False), (2, 0, False), (2, 1, False), (2, 2, True)]
)
def test_a_server_is_full_when_all_its_connections_are_in_use(
    most: int, busy: int, full: bool
) -> None:
    server = Server(HERE, most)
    for _ in range(busy):
        server.lend()

    assert (server.full, server.fit(0)) == (full, not full)


@given(st.integers(1, 3), st.lists(st.sampled_from(["lend", "keep", "drop", "forget", "sweep"])))
def test_no_connection_is_lost_or_lent_twice(most: int, steps: list[str]) -> None:
    server = Server(HERE, most, SECOND)
    out: list[Cable] = []
    every: list[Cable] = []
    gone = 0
    for now, step in enumerate(steps):
        if step == "lend" and not server.full:
            out.append(server.lend() or Cable())
            every += [out[-1]] if out[-1] not in every else []
        elif step in {"keep", "drop"} and out:
            getattr(server, step)(out.pop())
        elif step == "forget" and server.idle:
            server.forget(server.idle[0])
            gone += 1
        elif step == "sweep":
            server.sweep(now * SECOND // 3)
        alive = [cable for cable in every if not cable.closed]

        assert server.busy == len(out)
        assert len({*map(id, [*out, *server.idle])}) == len(out) + len(server.idle) <= most
        assert len(alive) == len(out) + len(server.idle) + gone
        assert max((cable.closed for cable in every), default=0) <= 1


def test_a_server_that_is_down_is_not_fit(server: Server) -> None:
    assert server.fit(0)

    server.down = True

    assert not server.fit(0)


@pytest.fixture
def guarded(clock: ManualClock) -> Server:
    """A server whose breaker opens after two failures, for five seconds."""
    return Server(HERE, breaker=Breaker(1.0, 2, pause=5.0, jitter=0.0, clock=clock))


def failed(server: Server, now: int = 0) -> None:
    for _ in range(2):
        server.leave(server.enter(now), FAILURE, now, 0)


def test_a_server_that_keeps_failing_is_not_fit_until_its_breaker_lets_one_in(
    guarded: Server,
) -> None:
    failed(guarded)

    moments = [(now, guarded.fit(now), guarded.wait(now)) for now in (0, 5 * SECOND - 1)]
    assert moments == [(0, False, 5 * SECOND), (5 * SECOND - 1, False, 1)]
    assert guarded.enter(0) == -1
    now = 5 * SECOND
    assert (guarded.fit(now), guarded.wait(now)) == (True, 0)
    ticket = guarded.enter(now)
    assert (ticket >= 0, guarded.fit(now), guarded.enter(now)) == (True, False, -1)
    guarded.leave(ticket, SUCCESS, now, 0)
    assert guarded.fit(now)


def test_requests_are_counted_and_those_that_failed(server: Server) -> None:
    for outcome in (SUCCESS, IGNORED, TIMEOUT, FAILURE):
        server.leave(server.enter(0), outcome, 0, 0)

    assert (server.requests, server.failures) == (4, 2)


def test_a_request_that_the_breaker_turned_away_is_not_counted(guarded: Server) -> None:
    failed(guarded)

    assert guarded.enter(0) == -1
    assert (guarded.requests, guarded.failures) == (2, 2)


def test_listeners_of_the_breaker_hear_of_what_requests_do_to_it(guarded: Server) -> None:
    told: list[Any] = []
    assert guarded.breaker is not None
    guarded.breaker.listen(lambda *change: told.append(change[1:]))

    failed(guarded)
    assert told == [("closed", "open")]
    ticket = guarded.enter(5 * SECOND)
    assert told[1:] == [("open", "half_open")]
    guarded.leave(ticket, SUCCESS, 5 * SECOND, 0)
    assert told[2:] == [("half_open", "closed")]


@given(
    st.lists(
        st.tuples(st.integers(0, 4 * SECOND), st.sampled_from([SUCCESS, FAILURE, IGNORED, 9])),
        max_size=50,
    )
)
def test_whoever_is_fit_lets_a_request_in(steps: list[tuple[int, int]]) -> None:
    breaker = Breaker(0.5, 2, pause=3.0, longest=3.0, jitter=0.0, clock=ManualClock())
    server = Server(HERE, breaker=breaker)
    now = 0
    for passed, outcome in steps:
        now += passed
        fit = server.fit(now)
        ticket = server.enter(now)
        if outcome != 9:
            server.leave(ticket, outcome, now, 0)

        assert fit == (ticket >= 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("http://10.0.0.1", "http://10.0.0.1:80"),
        ("https://A.example:9443", "https://a.example:9443"),
        ("http://[::1]:9000", "http://[::1]:9000"),
        ("unix:/run/app.sock", "unix:/run/app.sock"),
    ],
)
def test_a_server_is_called_by_its_address(text: str, name: str) -> None:
    server = Server(address(text))

    assert server.name == name
    assert repr(server) == f"<Server {name}: 0 busy, 0 idle>"


def test_its_status_says_what_it_does_and_how_it_is(guarded: Server, server: Server) -> None:
    stored(guarded, 2)
    guarded.lend()
    failed(guarded)

    assert guarded.status() == {
        "busy": 1, "idle": 1, "requests": 2, "failures": 2, "well": True, "breaker": "open",
    }  # fmt: skip
    assert server.status() == {
        "busy": 0, "idle": 0, "requests": 0, "failures": 0, "well": True, "breaker": "",
    }  # fmt: skip


def test_a_connection_that_its_server_has_closed_is_not_lent(server: Server) -> None:
    first, second, third = stored(server, 3)
    second.over = third.over = True

    assert server.lend() is first
    assert (server.busy, server.idle) == (1, [])
