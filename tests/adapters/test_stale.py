"""Answers that are not for everybody are not kept for others, however they say so."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import path

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware as AsgiMiddleware
from headgate.adapters.wsgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import call
from tests.adapters.django.site import ask, project
from tests.adapters.wire import called, environment

STALE = {"degrade": {"stale": "60s", "status": 503}}
RULES = Rules([Rule("r", limit="1/h", over=STALE)])
LINES = [
    ([("x-any", "thing")], 200),
    ([("Vary", "accept")], 200),
    ([("Vary", "accept"), ("Vary", "x-tenant")], 503),
    ([("Cache-Control", "max-age=60"), ("Cache-Control", "private")], 503),
    ([("Set-Cookie", "a=1")], 503),
]


@pytest.mark.parametrize(("lines", "again"), LINES)
def test_every_line_of_an_answer_is_looked_at_by_asgi(
    lines: list[tuple[str, str]], again: int, clock: ManualClock
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(name.lower().encode(), value.encode()) for name, value in lines]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ours"})

    guarded = AsgiMiddleware(app, RULES, clock=clock)
    call(guarded)

    assert call(guarded).status == again


@pytest.mark.parametrize(("lines", "again"), LINES)
def test_every_line_of_an_answer_is_looked_at_by_wsgi(
    lines: list[tuple[str, str]], again: int, clock: ManualClock
) -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [*lines])
        return [b"ours"]

    guarded = HeadgateMiddleware(app, RULES, clock=clock)
    called(guarded, environment("GET", "/", {}))

    assert called(guarded, environment("GET", "/", {})).status == again


@pytest.mark.parametrize("way", ["wsgi", "asgi"])
@pytest.mark.parametrize(("cookie", "again"), [(True, 503), (False, 200)])
def test_an_answer_of_django_with_a_cookie_is_for_one(
    way: str, cookie: bool, again: int, clock: ManualClock
) -> None:
    def page(request: Any) -> HttpResponse:
        response = HttpResponse("ours")
        if cookie:
            response.set_cookie("visitor", "1")
        return response

    with project(path("page", page), rules=RULES, clock=clock):
        ask(way, "/page")
        assert ask(way, "/page").status == again
