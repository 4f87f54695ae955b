"""Clients that go away say nothing about who was to answer them: no breaker hears of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.fastapi import configure
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import CONNECT, HUNG_UP, REQUEST, Caller
from tests.adapters.django.site import project
from tests.adapters.grpc.service import served

BROKEN = Rules([Rule("b", breaker={"failures": 0.5, "calls": 3, "status": ["5xx"]})])
TIMES = range(5)


async def gone(app: Any, path: str, says: tuple[dict[str, Any], ...], **scope: Any) -> Caller:
    """One who goes away in the middle of it."""
    caller = Caller(app, path, says=says, **scope)
    with suppress(ClientDisconnect, WebSocketDisconnect, asyncio.CancelledError):
        await caller()
    return caller


def test_sockets_that_their_clients_close_open_no_breaker(clock: ManualClock) -> None:
    app = FastAPI()
    configure(app, BROKEN, clock=clock)

    @app.websocket("/chat")
    async def chat(socket: WebSocket) -> None:
        await socket.accept()
        while True:
            await socket.receive_text()

    said = (
        {"type": "websocket.receive", "text": "hi"},
        {"type": "websocket.disconnect", "code": 1000},
    )

    async def main() -> int:
        for _ in TIMES:
            caller = await gone(app, "/chat", (CONNECT, *said), type="websocket")
        return caller.status

    assert asyncio.run(main()) == 101


def test_uploads_that_their_clients_give_up_open_no_breaker(clock: ManualClock) -> None:
    async def upload(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    app = HeadgateMiddleware(
        Starlette(routes=[Route("/up", upload, methods=["POST"])]), BROKEN, clock=clock
    )
    half = {"type": "http.request", "body": b"x", "more_body": True}

    async def main() -> int:
        for _ in TIMES:
            await gone(app, "/up", (half, HUNG_UP), method="POST")
        return (await Caller(app, "/up", method="POST")()).status

    assert asyncio.run(main()) == 200


async def slow(request: Any) -> HttpResponse:
    if "wait" in request.GET:
        await asyncio.Event().wait()
    return HttpResponse("done")


async def stream(request: Any) -> StreamingHttpResponse:
    async def parts() -> Any:
        yield b"one"
        if "wait" in request.GET:
            await asyncio.Event().wait()

    return StreamingHttpResponse(parts())


@pytest.mark.parametrize("place", ["slow", "stream"])
def test_views_of_django_whose_clients_leave_open_no_breaker(
    place: str, clock: ManualClock
) -> None:
    host = [(b"host", b"shop")]

    async def main() -> int:
        for _ in TIMES:
            says = (REQUEST, HUNG_UP)
            await gone(ASGIHandler(), f"/{place}", says, headers=host, query_string=b"wait")
        return (await Caller(ASGIHandler(), f"/{place}", headers=host)()).status

    with project(path("slow", slow), path("stream", stream), rules=BROKEN, clock=clock):
        assert asyncio.run(main()) == 200


@pytest.mark.parametrize("colour", ["threads", "loop"])
def test_streams_that_their_callers_cancel_open_no_breaker(colour: str) -> None:
    with served(colour, BROKEN) as stub:
        for _ in TIMES:
            call = stub.begin("Watch")
            next(call)
            call.cancel()
            assert stub.orders.ended.acquire(timeout=20)
        answer = stub.ask("Get")

    assert answer.code == "OK"
