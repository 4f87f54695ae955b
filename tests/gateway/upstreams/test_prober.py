"""Prober: servers are asked as often as they should be, and what they say is taken note of."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from headgate.clock import ManualClock
from headgate.gateway.upstreams.group import Group
from headgate.gateway.upstreams.probe import Probe
from headgate.gateway.upstreams.prober import Prober
from headgate.rules.model.place import Place
from headgate.rules.model.upstream import Upstream
from tests.gateway.upstreams.cable import Cable

pytest.importorskip("httptools")

EVERY = 6.0
Ask = Callable[[Place], Awaitable[str]]


def group(count: int, **health: Any) -> Group:
    servers = [f"http://10.0.0.{number}:9000" for number in range(count)]
    terms = {"path": "/healthz", "every": EVERY, **health}
    return Group("shop", Upstream(servers, health=terms), ManualClock())


def probed(group: Group, ask: Ask, clock: ManualClock, seconds: float) -> None:
    """Let a prober do its work for so long."""

    async def run() -> None:
        prober = Prober(group, ask, clock)
        prober.start()
        await clock.asleep(seconds)
        await prober.close()

    asyncio.run(run())


def said(*troubles: str) -> Ask:
    """Says this to one check after another, and that all is well from then on."""
    left = [*troubles]

    async def ask(place: Place) -> str:
        return left.pop(0) if left else ""

    return ask


def down(group: Group) -> list[bool]:
    return [server.down for server in group.servers]


def test_every_server_is_asked_as_often_as_it_should_be(clock: ManualClock) -> None:
    moments: defaultdict[str, list[float]] = defaultdict(list)

    async def ask(place: Place) -> str:
        moments[place.host].append(clock.now() / 1e6)
        return ""

    probed(group(3), ask, clock, 10 * EVERY)

    assert len(moments) == 3
    for number, times in enumerate(moments.values()):
        assert len(times) == 10
        assert number * EVERY / 3 <= times[0] < (number + 1) * EVERY / 3
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert gaps == pytest.approx([EVERY] * 9)


def test_a_check_that_takes_long_does_not_put_off_the_next_or_that_of_others(
    clock: ManualClock,
) -> None:
    moments: defaultdict[str, list[float]] = defaultdict(list)

    async def ask(place: Place) -> str:
        moments[place.host].append(clock.now() / 1e6)
        await clock.asleep(5.0 if place.host == "10.0.0.0" else 0.0)
        return ""

    probed(group(2), ask, clock, 4 * EVERY)

    for times in moments.values():
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert gaps == pytest.approx([EVERY] * 3)


def test_checks_are_not_at_the_same_moments_in_two_gateways() -> None:
    async def ask(place: Place) -> str:
        moments.append(clock.now())
        return ""

    moments: list[int] = []
    for _ in range(10):
        clock = ManualClock()
        probed(group(1), ask, clock, EVERY)

    assert len({*moments}) > 1


def test_enough_bad_checks_in_a_row_take_a_server_out_and_good_ones_bring_it_back(
    clock: ManualClock,
) -> None:
    servers = group(2, down=3, up=2)
    history = []

    async def ask(place: Place) -> str:
        if place.host == "10.0.0.0":
            history.append(servers.servers[0].down)
            return "" if len(history) >= 5 else "it answers 503"
        return ""

    probed(servers, ask, clock, 8 * EVERY)

    assert history == [False, False, False, True, True, True, False, False]


def test_where_no_server_is_well_none_is_down(clock: ManualClock) -> None:
    servers = group(2)

    async def ask(place: Place) -> str:
        return "it answers 503"

    probed(servers, ask, clock, 4 * EVERY)

    assert down(servers) == [False, False]
    assert [server.status()["well"] for server in servers.servers] == [False, False]


@pytest.mark.parametrize(
    ("problem", "trouble"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (RuntimeError("it is strange"), "it is strange"),
        (ValueError(), "ValueError"),
        (TimeoutError(), "no answer within 1 s"),
    ],
)
def test_whatever_goes_wrong_speaks_against_the_server_and_ends_nothing(
    problem: Exception, trouble: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    servers = group(2, down=1)
    asked = []

    async def ask(place: Place) -> str:
        if place.host == "10.0.0.1":
            return ""
        asked.append(place)
        raise problem

    probed(servers, ask, clock, 3 * EVERY)

    assert (down(servers), len(asked)) == ([True, False], 3)
    assert caplog.messages == [f"upstream shop: http://10.0.0.0:9000 is down: {trouble}"]


def test_who_does_not_answer_in_time_is_not_well(clock: ManualClock) -> None:
    servers = group(2, down=1, timeout=0.01)

    async def ask(place: Place) -> str:
        if place.host == "10.0.0.0":
            await asyncio.Event().wait()
        return ""

    async def run() -> None:
        prober = Prober(servers, ask, clock)
        prober.start()
        while not servers.servers[0].down:
            await clock.asleep(EVERY)
        await prober.close()

    asyncio.run(run())

    assert down(servers) == [True, False]


def test_a_server_that_goes_down_has_its_idle_connections_closed(clock: ManualClock) -> None:
    servers = group(2, down=1)
    cables = [Cable(), Cable()]
    for server, cable in zip(servers.servers, cables, strict=True):
        server.lend()
        server.keep(cable)

    probed(servers, said("it answers 503"), clock, EVERY)

    assert [cable.closed for cable in cables] == [1, 0]


def test_what_turns_is_logged(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate")

    probed(group(2, down=1, up=1), said("it answers 503", "it hangs up"), clock, 2 * EVERY)

    assert caplog.messages == [
        "upstream shop: http://10.0.0.0:9000 is down: it answers 503",
        "upstream shop: http://10.0.0.1:9000 is not well: it hangs up; no server is, so all are "
        "asked",
        "upstream shop: http://10.0.0.0:9000 is well again",
        "upstream shop: http://10.0.0.1:9000 is well again",
    ]


def test_when_it_is_closed_no_check_is_under_way(clock: ManualClock) -> None:
    ended = []

    async def ask(place: Place) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(place.host)
        return ""

    async def run() -> int:
        prober = Prober(group(3, timeout=60.0), ask, clock)
        prober.start()
        await clock.asleep(EVERY)
        await prober.close()
        await prober.close()
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1
    assert sorted(ended) == ["10.0.0.0", "10.0.0.1", "10.0.0.2"]


def test_one_that_never_began_can_be_closed(clock: ManualClock) -> None:
    asyncio.run(Prober(group(1), said(), clock).close())


def test_a_server_that_stops_and_begins_again_is_noticed(clock: ManualClock) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async def listen(port: int = 0) -> tuple[asyncio.Server, int]:
        server = await asyncio.start_server(answer, "127.0.0.1", port)
        return server, server.sockets[0].getsockname()[1]

    async def run() -> None:
        (first, port), (second, other) = await listen(), await listen()
        addresses = [f"http://127.0.0.1:{one}" for one in (port, other)]
        terms = Upstream(addresses, health={"path": "/", "every": EVERY, "timeout": 60.0})
        servers = Group("shop", terms, clock)
        prober = Prober(servers, Probe(terms.health).ask, clock)
        prober.start()
        first.close()
        while down(servers) != [True, False]:
            await clock.asleep(1.0)
        first, _ = await listen(port)
        while down(servers) != [False, False]:
            await clock.asleep(1.0)
        await prober.close()
        first.close()
        second.close()

    asyncio.run(run())
