"""A session of aiohttp keeps to a pace and does as a server says."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from headgate import AsyncLimiter, LimitExceeded, ManualClock
from headgate.adapters.outgoing.aiohttp import kept, middleware
from headgate.adapters.outgoing.pace import Pace
from tests.adapters.outgoing.server import REFUSED, Answer, Asked, Server, serving

aiohttp = pytest.importorskip("aiohttp", minversion="3.12")


def speak(server: Server, pace: Pace, times: int = 1, **options: Any) -> list[tuple[int, bytes]]:
    """What a session is answered that has one connection: who keeps it leaves none for others."""

    async def ask() -> list[tuple[int, bytes]]:
        found = []
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1),
            timeout=aiohttp.ClientTimeout(total=5.0),
            middlewares=[middleware(pace)],
        ) as session:
            for _ in range(times):
                method = "POST" if options else "GET"
                async with session.request(method, server.url, **options) as answer:
                    found.append((answer.status, await answer.read()))
        return found

    return asyncio.run(ask())


def test_a_refused_request_is_sent_again_when_it_may(clock: ManualClock) -> None:
    with serving(REFUSED, REFUSED) as server:
        answers = speak(server, Pace(jitter=0.0, clock=clock))

    assert answers == [(200, b"welcome")]
    assert len(server.asked) == 3
    assert clock.now() == 10_000_000


@pytest.mark.parametrize("options", [{"data": b"kept"}, {"data": "kept"}, {"json": 7}])
def test_a_body_in_memory_is_sent_again(options: dict[str, Any], clock: ManualClock) -> None:
    with serving(REFUSED) as server:
        answers = speak(server, Pace(clock=clock), **options)

    assert answers == [(200, b"welcome")]
    assert server.asked == [Asked("POST", "/here", b"7" if "json" in options else b"kept")] * 2


async def stream() -> AsyncIterator[bytes]:
    yield b"gone"


@pytest.mark.parametrize("make", [stream, lambda: io.BufferedReader(io.BytesIO(b"gone"))])
def test_a_body_that_was_streamed_is_not(make: Any, clock: ManualClock) -> None:
    with serving(REFUSED) as server:
        answers = speak(server, Pace(clock=clock), data=make())

    assert answers == [(429, REFUSED.body)]
    assert server.asked == [Asked("POST", "/here", b"gone")]


@pytest.mark.parametrize(
    ("marks", "whole"),
    [
        ({"autoclose": True, "consumed": False}, True),
        ({"autoclose": True, "consumed": True}, False),
        ({"autoclose": False, "consumed": False}, False),
        ({"autoclose": True}, False),
        ({"consumed": False}, False),
    ],
)
def test_a_body_is_sent_again_only_where_it_is_sure_to_be_there(
    marks: dict[str, bool], whole: bool
) -> None:
    assert kept(SimpleNamespace(**marks)) is whole


def test_requests_leave_at_the_pace(clock: ManualClock) -> None:
    with serving() as server:
        speak(server, Pace(AsyncLimiter("1/s", clock=clock), clock=clock), times=4)

    assert clock.now() == 3_000_000


def test_a_quota_that_is_used_up_holds_the_next_request_back(clock: ManualClock) -> None:
    spent = Answer(200, (("RateLimit", '"a";r=3;t=9'), ("RateLimit", '"b";r=0;t=7')))
    with serving(spent) as server:
        answers = speak(server, Pace(jitter=0.0, clock=clock), times=2)

    assert answers == [(200, b"welcome")] * 2
    assert clock.now() == 7_000_000


def test_who_would_wait_too_long_is_told_and_nothing_is_sent(clock: ManualClock) -> None:
    told = Answer(503, (("Retry-After", "61"),))
    with serving(told) as server, pytest.raises(LimitExceeded) as refusal:
        speak(server, Pace(clock=clock), times=2)

    assert refusal.value.retry_after == 61.0
    assert len(server.asked) == 1


def test_a_middleware_has_a_pace() -> None:
    with pytest.raises(TypeError) as refusal:
        middleware("10/s")  # type: ignore[arg-type]
    assert str(refusal.value) == "middleware: pace is a Pace such as Pace(\"10/s\"), not '10/s'"
