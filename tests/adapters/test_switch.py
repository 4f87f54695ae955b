"""Rules switched off and counts forgotten, through the gatekeeper of each framework."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import path
from fastapi import FastAPI
from flask import Flask

from headgate.adapters.django.decorator import limit as django_limit
from headgate.adapters.django.desk import desk, enable, reset
from headgate.adapters.fastapi import configure, limited
from headgate.adapters.flask import Headgate, limit
from headgate.rules.live import switch
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import call
from tests.adapters.django.site import project, statuses

RULES = Rules([Rule("front", match={"path": "/front"}, limit="1/min")])
PATHS = ("/front", "/view")
WAYS = pytest.mark.parametrize("way", ["wsgi", "asgi"])


@pytest.fixture(autouse=True)
def unheard() -> Iterator[None]:
    """Nobody has heard of a switch yet."""
    switch.warn.cache_clear()
    yield
    switch.warn.cache_clear()


def flask() -> Flask:
    """An application with a view behind a rule, and one behind a limit."""
    app = Flask("shop")
    Headgate(app, RULES)
    app.add_url_rule("/front", "front", lambda: "hello")
    app.add_url_rule("/view", "view", limit("1/min")(lambda: "hello"))
    return app


def fastapi() -> FastAPI:
    """The same; one more route counts apart from the others."""
    app = FastAPI()
    configure(app, RULES)

    @app.get("/front")
    def front() -> None: ...

    @app.get("/view")
    @limited("1/min")
    def view() -> None: ...

    @app.get("/apart")
    @limited("1/min", store="memory://")
    def apart() -> None: ...

    return app


def hello(request: Any) -> HttpResponse:
    return HttpResponse("hello")


async def ahello(request: Any) -> HttpResponse:
    return HttpResponse("hello")


VIEWS = {
    "wsgi": (path("front", hello), path("view", django_limit("1/min")(hello), name="view")),
    "asgi": (path("front", ahello), path("view", django_limit("1/min")(ahello), name="view")),
}


def asked(app: Flask) -> list[int]:
    return [app.test_client().get(path).status_code for path in PATHS]


def called(app: FastAPI) -> list[int]:
    return [call(app, path).status for path in (*PATHS, "/apart")]


def visited(way: str) -> list[int]:
    return [statuses(way, path, 1)[0] for path in PATHS]


def test_flask_is_switched_and_reset() -> None:
    app = flask()
    keeper = app.extensions["headgate"].keeper
    found = [asked(app), asked(app)]
    keeper.enabled = False
    found += [asked(app), asked(app)]
    keeper.enabled = True
    found.append(asked(app))
    keeper.reset()

    no, yes = [429, 429], [200, 200]
    assert [*found, asked(app), asked(app)] == [yes, no, yes, yes, no, yes, no]


def test_fastapi_is_switched_and_reset() -> None:
    app = fastapi()
    keeper = app.state.headgate.keeper
    found = [called(app), called(app)]
    keeper.enabled = False
    found += [called(app), called(app)]
    keeper.enabled = True
    found.append(called(app))
    asyncio.run(keeper.reset())

    no, yes = [429] * 3, [200] * 3
    assert [*found, called(app), called(app)] == [yes, no, yes, yes, no, yes, no]


@WAYS
def test_django_is_switched_and_reset(way: str) -> None:
    with project(*VIEWS[way], rules=RULES):
        found = [visited(way), visited(way)]
        enable(False)
        found += [visited(way), visited(way)]
        enable(True)
        found.append(visited(way))
        reset()
        found += [visited(way), visited(way)]

    no, yes = [429, 429], [200, 200]
    assert found == [yes, no, yes, yes, no, yes, no]


@WAYS
def test_each_keeper_of_django_can_be_reached(way: str) -> None:
    with project(*VIEWS[way], rules=RULES):
        visited(way)
        keeper: Any = desk(Gatekeeper if way == "wsgi" else AsyncGatekeeper).keeper
        found = [visited(way)]
        keeper.enabled = False
        found.append(visited(way))
        keeper.enabled = True
        answer = keeper.reset()
        if answer is not None:
            asyncio.run(answer)
        found.append(visited(way))

    assert found == [[429, 429], [200, 200], [200, 200]]


def test_the_environment_switches_all_of_them_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", "0")
    caplog.set_level(logging.WARNING, "headgate")
    app, other = flask(), fastapi()
    with project(*VIEWS["wsgi"], rules=RULES):
        found = [asked(app), asked(app), called(other), called(other), visited("wsgi")]
        found.append(visited("wsgi"))

    assert {status for each in found for status in each} == {200}
    assert [one.getMessage() for one in caplog.records if one.name == "headgate"] == [
        "HEADGATE_ENABLED=0: no rule is asked, and every request is let in"
    ]
