"""Drivers: one for each way of putting rules in front of an application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIHandler
from django.test import Client
from flask import Flask, Response, request

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware as AsgiMiddleware
from headgate.adapters.flask import Headgate
from headgate.adapters.http.herald import Herald
from headgate.adapters.wsgi import HeadgateMiddleware
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.pieces import cut
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from tests.adapters.django import site
from tests.adapters.parity import Driver, Failure, Heard, Maker, behave
from tests.adapters.wire import called, environment, scope, talk


class Line:
    """A driver made of a function."""

    def __init__(self, send: Callable[[Driver, str, str, Mapping[str, str], str], Heard]) -> None:
        self._send = send

    def send(self, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        """The answer to a request."""
        return self._send(self, method, path, headers, client)


@contextmanager
def gatekeeper(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """No framework at all."""
    keeper = Gatekeeper(rules, clock=clock)
    herald = Herald(rules.headers, clock.now)

    def send(
        driver: Driver, method: str, path: str, headers: Mapping[str, str], client: str
    ) -> Heard:
        target, _, query = path.partition("?")
        lines = [headers["x-forwarded-for"]] if "x-forwarded-for" in headers else []
        found = rules.client.find(client, lines)
        asked = Request(
            method, unquote(target), headers, query, client=found.key, address=found.address
        )
        entry = keeper.enter(asked)
        if entry.refusal is not None:
            status, fields, body = herald.answer(entry)
            return Heard(status, plain(fields), b"" if method == "HEAD" else body)
        fields = herald.fields(entry)
        try:
            heard = behave(driver, method, path, headers)
        except Failure:
            keeper.leave(entry, 0)
            return Heard(500, {}, b"")
        for piece in cut(heard.body, entry.piece) if entry.bandwidth else ():
            keeper.pour(entry, len(piece))
        entry.send(heard.body)
        entry.complete = True
        keeper.leave(entry, heard.status, lambda name: heard.headers.get(name, ""), len(heard.body))
        return Heard(heard.status, heard.headers | plain(fields), heard.body)

    yield Line(send)


@contextmanager
def wsgi(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A bare WSGI application."""

    def send(
        driver: Driver, method: str, path: str, headers: Mapping[str, str], client: str
    ) -> Heard:
        def app(environ: Any, start: Any) -> Any:
            heard = behave(driver, method, path, headers)
            start(f"{heard.status} Said", [*heard.headers.items()])
            return [heard.body]

        middleware = HeadgateMiddleware(app, keeper)
        try:
            return called(middleware, environment(method, path, headers, client))
        except Failure:
            return Heard(500, {}, b"")

    keeper = Gatekeeper(rules, clock=clock)
    yield Line(send)


@contextmanager
def flask(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A Flask application."""
    app = Flask(__name__)
    Headgate(app, rules, clock=clock)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
    @app.route("/<path:path>", methods=["GET", "POST"])
    def anything(path: str) -> Response:
        said = {name.lower(): value for name, value in request.headers.items()}
        heard = behave(driver, request.method, request.path, said)
        return Response(heard.body, heard.status, heard.headers)

    def send(_: Driver, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        told = app.test_client(use_cookies=False).open(
            path, method=method, headers=headers, environ_base={"REMOTE_ADDR": client}
        )
        said = {name.lower(): value for name, value in told.headers.items()}
        return Heard(told.status_code, said, told.data)

    driver = Line(send)
    yield driver


@contextmanager
def django(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A Django project under WSGI."""

    def send(_: Driver, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        told = Client(raise_request_exception=False).generic(
            method, path, headers=headers, REMOTE_ADDR=client
        )
        return site.heard(told, told.getvalue())

    with site.staged(Line(send), rules, clock) as driver:
        yield driver


@contextmanager
def django_async(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A Django project under ASGI."""

    def send(_: Driver, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        return async_to_sync(talk)(ASGIHandler(), scope(method, path, headers, client))

    with site.staged(Line(send), rules, clock) as driver:
        yield driver


@contextmanager
def asgi(rules: Rules, clock: ManualClock) -> Iterator[Driver]:
    """A bare ASGI application."""

    def send(
        driver: Driver, method: str, path: str, headers: Mapping[str, str], client: str
    ) -> Heard:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            heard = await asyncio.to_thread(behave, driver, method, path, headers)
            said = [(name.encode(), value.encode()) for name, value in heard.headers.items()]
            await send({"type": "http.response.start", "status": heard.status, "headers": said})
            await send({"type": "http.response.body", "body": heard.body})

        try:
            middleware = AsgiMiddleware(app, keeper)
            return async_to_sync(talk)(middleware, scope(method, path, headers, client))
        except Failure:
            return Heard(500, {}, b"")

    keeper = AsyncGatekeeper(rules, clock=clock)
    yield Line(send)


def plain(fields: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as texts."""
    return {name.decode(): value.decode() for name, value in fields}


DRIVERS: dict[str, Maker] = {
    "gatekeeper": gatekeeper,
    "wsgi": wsgi,
    "flask": flask,
    "django": django,
    "django async": django_async,
    "asgi": asgi,
}
