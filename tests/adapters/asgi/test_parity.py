"""Starlette and FastAPI answer as every other framework does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.fastapi import configure
from headgate.rules.model.rules import Rules
from tests.adapters.parity import SCENES, Driver, Failure, Heard, Maker, behave, play
from tests.adapters.wire import scope, talk


class Line:
    """A driver of an application that knows its driver."""

    def __init__(self) -> None:
        self.app: Any = None

    def send(self, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        """The answer to a request."""
        try:
            return async_to_sync(talk)(self.app, scope(method, path, headers, client))
        except Failure:
            return Heard(500, {}, b"")

    async def answer(self, request: Request) -> Response:
        """What the application does."""
        said = dict(request.headers)
        heard = await asyncio.to_thread(behave, self, request.method, request.url.path, said)
        return Response(heard.body, heard.status, heard.headers)


@contextmanager
def starlette(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """The middleware of a Starlette application."""
    line = Line()
    guard = Middleware(HeadgateMiddleware, rules=rules, clock=clock)
    route = Route("/{path:path}", line.answer, methods=["GET", "POST"])
    line.app = Starlette(routes=[route], middleware=[guard])
    yield line


@contextmanager
def fastapi(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A FastAPI application that is configured."""
    line = Line()
    app = line.app = FastAPI()
    configure(app, rules, clock=clock)

    @app.api_route("/{path:path}", methods=["GET", "HEAD", "POST"])
    async def answer(request: Request) -> Response:
        return await line.answer(request)

    yield line


MAKERS: dict[str, Maker] = {"starlette": starlette, "fastapi": fastapi}


@pytest.mark.parametrize("driver", MAKERS)
@pytest.mark.parametrize("scene", SCENES)
def test_every_framework_answers_alike(scene: str, driver: str) -> None:
    play(SCENES[scene], MAKERS[driver])
