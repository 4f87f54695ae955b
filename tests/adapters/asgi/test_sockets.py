"""WebSockets are one request that may take hours: refused at the door, counted while they last."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import CONNECT, Caller, call
from tests.adapters.asgi.serving import serving
from tests.servers.waiting import until

SOCKET: dict[str, Any] = {"type": "websocket", "says": (CONNECT,)}
DENIALS: dict[str, Any] = {"extensions": {"websocket.http.response": {}}}


async def accept(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept", "headers": [(b"x-app", b"1")]})
    await send({"type": "websocket.send", "text": "x" * 600})
    await send({"type": "websocket.close", "code": 1000})


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    try:
        while True:
            await socket.send_text(await socket.receive_text())
    except WebSocketDisconnect:
        pass


async def fail(socket: WebSocket) -> None:
    await socket.accept()
    raise LookupError


def guarded(clock: ManualClock, *rules: Rule, app: Any = accept) -> HeadgateMiddleware:
    return HeadgateMiddleware(app, Rules(rules), clock=clock)


def test_a_handshake_is_refused_with_an_answer_where_the_server_can(clock: ManualClock) -> None:
    app = guarded(clock, Rule("chat", limit="1/min"))
    call(app, **SOCKET)

    refused = call(app, **SOCKET, **DENIALS)

    assert [message["type"] for message in refused.sent] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    assert (refused.status, refused.headers[b"retry-after"]) == (429, b"60")
    assert json.loads(refused.body)["violated-policies"] == ["chat"]


def test_a_handshake_is_refused_by_closing_where_it_cannot(clock: ManualClock) -> None:
    app = guarded(clock, Rule("chat", limit="1/min"))
    call(app, **SOCKET)

    refused = call(app, **SOCKET, extensions=None)

    assert refused.sent == [{"type": "websocket.close", "code": 1013, "reason": "over the limit"}]


def test_a_handshake_that_is_accepted_tells_how_the_limit_stands(clock: ManualClock) -> None:
    answer = call(guarded(clock, Rule("chat", limit="5/s")), **SOCKET)

    assert answer.sent[0]["headers"] == [
        (b"x-app", b"1"),
        (b"ratelimit-policy", b'"chat";q=5;w=1'),
        (b"ratelimit", b'"chat";r=4;t=1'),
    ]
    assert answer.scope["headgate"].decisions["chat"].remaining == 4


def test_a_message_is_sent_whole_when_all_of_it_may_flow(clock: ManualClock) -> None:
    app = guarded(clock, Rule("chat", bandwidth="1000B/s burst 256"))
    moments: list[tuple[str, int]] = []

    call(app, **SOCKET, tell=lambda message: moments.append((message["type"], clock.now())))

    assert moments == [
        ("websocket.accept", 0),
        ("websocket.send", 344_000),
        ("websocket.close", 344_000),
    ]


@pytest.mark.parametrize(
    ("message", "failed"),
    [
        ({"type": "websocket.accept"}, False),
        ({"type": "websocket.close", "code": 1008}, False),
        ({"type": "websocket.http.response.start", "status": 500, "headers": []}, True),
        (None, True),
    ],
)
def test_a_breaker_learns_how_a_handshake_ended(
    message: dict[str, Any] | None, failed: bool, clock: ManualClock
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if message is not None:
            await send(message)

    guard = guarded(clock, Rule("backend", breaker={"calls": 1, "failures": 1.0}), app=app)
    call(guard, **SOCKET)

    refused = call(guard, **SOCKET).scope["headgate"].refusal

    assert (refused is not None) == failed


def test_a_place_is_held_for_the_life_of_a_socket(clock: ManualClock) -> None:
    held: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        held.append((await Caller(guard, **SOCKET, **DENIALS)()).status)
        await send({"type": "websocket.close", "code": 1000})

    guard = guarded(clock, Rule("alone", key="client.ip", concurrent=1), app=app)

    assert call(guard, **SOCKET).status == 101
    assert held == [429]
    assert call(guard, **SOCKET).status == 101


def test_a_place_is_given_back_when_the_task_of_a_socket_is_cancelled(clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    guard = guarded(clock, Rule("alone", concurrent=1), app=app)

    async def cancel() -> int:
        caller = Caller(guard, **SOCKET)
        task = asyncio.ensure_future(caller())
        while not caller.sent:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        guard.app = accept
        return (await Caller(guard, **SOCKET)()).status

    assert asyncio.run(cancel()) == 101


def test_a_served_socket_is_refused_and_let_in_again_when_others_leave() -> None:
    routes = [WebSocketRoute("/echo", echo), WebSocketRoute("/fail", fail)]
    rules = Rules([Rule("alone", key="client.ip", concurrent=1)])
    guard = HeadgateMiddleware(Starlette(routes=routes), rules)

    def free() -> bool:
        with site.socket("/echo") as talk:
            return talk.status == 101

    with serving(guard) as site:
        with site.socket("/echo") as first:
            first.say("hello")
            with site.socket("/echo") as second:
                refusal = second.refusal()
            assert (first.status, first.hear()) == (101, "hello")
            first.close()
            assert first.hear() == 1000
        # Once it was left without a word, and once its application failed.
        until(free, "a free place")
        until(free, "a free place")
        with site.socket("/fail") as broken:
            assert broken.status == 101
            assert broken.hear() in {1006, 1011}
        until(free, "a free place")

    assert refusal.status == 429
    assert refusal.line("content-type") == "application/problem+json"
    assert refusal.line("retry-after") == "1"
    assert json.loads(refusal.body)["title"] == "Quota Exceeded"
