"""Clients of httpx and httpx2 keep to a pace and do as a server says, in both colours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from headgate import LimitExceeded, ManualClock
from headgate.adapters.outgoing.httpx import Transport
from headgate.adapters.outgoing.pace import Pace
from tests.adapters.outgoing.server import REFUSED, Answer, Asked, Server, serving


class Sync:
    """Speaks to a server with a client that holds up its thread."""

    def __init__(self, library: Any, pace: Pace) -> None:
        # With one connection, an answer that is not closed would leave none for the next. Loading
        # certificates, which no server here has, would take most of the time.
        limits = library.Limits(max_connections=1)
        self.transport = Transport(library.HTTPTransport(verify=False, limits=limits), pace)
        self.library = library

    def get(self, server: Server, times: int = 1, **options: Any) -> list[Any]:
        with self.library.Client(transport=self.transport, timeout=5.0) as client:
            method = "POST" if options else "GET"
            return [client.request(method, server.url, **options) for _ in range(times)]

    def stream(self) -> Iterator[bytes]:
        yield b"gone"


class Async:
    """Speaks to a server with a client that is awaited."""

    def __init__(self, library: Any, pace: Pace) -> None:
        limits = library.Limits(max_connections=1)
        self.transport = Transport(library.AsyncHTTPTransport(verify=False, limits=limits), pace)
        self.library = library

    def get(self, server: Server, times: int = 1, **options: Any) -> list[Any]:
        async def speak() -> list[Any]:
            async with self.library.AsyncClient(transport=self.transport, timeout=5.0) as client:
                method = "POST" if options else "GET"
                return [await client.request(method, server.url, **options) for _ in range(times)]

        return asyncio.run(speak())

    async def stream(self) -> AsyncIterator[bytes]:
        yield b"gone"


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture(params=[Sync, Async])
def colour(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_refused_request_is_sent_again_when_it_may(
    library: Any, colour: Any, clock: ManualClock
) -> None:
    with serving(REFUSED, REFUSED) as server:
        (answer,) = colour(library, Pace(jitter=0.0, clock=clock)).get(server)

    assert (answer.status_code, answer.text) == (200, "welcome")
    assert len(server.asked) == 3
    assert clock.now() == 10_000_000


def test_a_body_in_memory_is_sent_again(library: Any, colour: Any, clock: ManualClock) -> None:
    with serving(REFUSED) as server:
        (answer,) = colour(library, Pace(clock=clock)).get(server, content=b"kept")

    assert answer.status_code == 200
    assert server.asked == [Asked("POST", "/here", b"kept")] * 2


def test_a_body_that_was_streamed_is_not(library: Any, colour: Any, clock: ManualClock) -> None:
    client = colour(library, Pace(clock=clock))
    with serving(REFUSED) as server:
        (answer,) = client.get(server, content=client.stream())

    assert (answer.status_code, answer.content) == (429, REFUSED.body)
    assert server.asked == [Asked("POST", "/here", b"gone")]


def test_requests_leave_at_the_pace(library: Any, colour: Any, clock: ManualClock) -> None:
    with serving() as server:
        colour(library, Pace("1/s", clock=clock)).get(server, times=4)

    assert clock.now() == 3_000_000


def test_a_quota_that_is_used_up_holds_the_next_request_back(
    library: Any, colour: Any, clock: ManualClock
) -> None:
    spent = Answer(200, (("RateLimit", '"a";r=3;t=9'), ("RateLimit", '"b";r=0;t=7')))
    with serving(spent) as server:
        answers = colour(library, Pace(jitter=0.0, clock=clock)).get(server, times=2)

    assert [answer.status_code for answer in answers] == [200, 200]
    assert clock.now() == 7_000_000


def test_who_would_wait_too_long_is_told_and_nothing_is_sent(
    library: Any, colour: Any, clock: ManualClock
) -> None:
    told = Answer(503, (("Retry-After", "61"),))
    with serving(told) as server, pytest.raises(LimitExceeded) as refusal:
        colour(library, Pace(clock=clock)).get(server, times=2)

    assert str(refusal.value) == "over the limit of the other side; try again in 61.000 s"
    assert len(server.asked) == 1


def test_what_is_held_back_together_has_one_key(
    library: Any, colour: Any, clock: ManualClock
) -> None:
    keys = []

    def key(request: Any) -> str:
        keys.append((type(request), request.headers["accept"]))
        return "all"

    pace = Pace(key=key, retries=0, clock=clock)
    with serving(REFUSED) as server:
        colour(library, pace).get(server)

    assert keys == [(library.Request, "*/*")]
    assert pace.held("all") == 5.0


def test_a_transport_opens_and_closes_the_one_it_wraps(library: Any, clock: ManualClock) -> None:
    events: list[str] = []

    class Inner:
        def handle_request(self, request: Any) -> Any:
            return library.Response(200)

        def __enter__(self) -> None:
            events.append("enter")

        def __exit__(self, *exc: object) -> None:
            events.append("exit")

        def close(self) -> None:
            events.append("close")

    with library.Client(transport=Transport(Inner(), Pace(clock=clock))) as client:
        client.get("http://nowhere/")
    library.Client(transport=Transport(Inner(), Pace(clock=clock))).close()

    assert events == ["enter", "exit", "close"]


def test_an_awaited_transport_opens_and_closes_the_one_it_wraps(
    library: Any, clock: ManualClock
) -> None:
    events: list[str] = []

    class Inner:
        async def handle_async_request(self, request: Any) -> Any:
            return library.Response(200)

        async def __aenter__(self) -> None:
            events.append("enter")

        async def __aexit__(self, *exc: object) -> None:
            events.append("exit")

        async def aclose(self) -> None:
            events.append("close")

    async def speak() -> None:
        transport = Transport(Inner(), Pace(clock=clock))
        async with library.AsyncClient(transport=transport) as client:
            await client.get("http://nowhere/")
        await library.AsyncClient(transport=transport).aclose()

    asyncio.run(speak())

    assert events == ["enter", "exit", "close"]


def test_a_transport_wraps_a_transport_at_a_pace() -> None:
    with pytest.raises(TypeError) as refusal:
        Transport("http://", Pace())
    assert str(refusal.value) == (
        "Transport: wrapped is a transport such as httpx.HTTPTransport(), not 'http://'"
    )
    httpx = pytest.importorskip("httpx")
    with pytest.raises(TypeError) as refusal, httpx.HTTPTransport() as wrapped:
        Transport(wrapped, "10/s")
    assert str(refusal.value) == "Transport: pace is a Pace such as Pace(\"10/s\"), not '10/s'"
