"""Switching rules off and resetting counts, through the gatekeeper of each framework."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

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
# The first is limited by a rule, the second by the view, the third by the view in its own store.
PATHS = ("/front", "/view", "/apart")


class Application(NamedTuple):
    """An application whose paths admit one request a minute each, and its switch."""

    request_all: Callable[[], list[int]]
    enable: Callable[[bool], Any]
    reset: Callable[[], Any]


@pytest.fixture(autouse=True)
def clear_warned() -> Iterator[None]:
    """The warning about HEADGATE_ENABLED is logged once per process."""
    switch.warn.cache_clear()
    yield
    switch.warn.cache_clear()


@contextmanager
def flask_application() -> Iterator[Application]:
    app = Flask("shop")
    Headgate(app, RULES)
    app.add_url_rule("/front", "front", lambda: "hello")
    app.add_url_rule("/view", "view", limit("1/min")(lambda: "hello"))

    def request_all() -> list[int]:
        return [app.test_client().get(path).status_code for path in PATHS[:2]]

    yield switched_by_keeper(app.extensions["headgate"].keeper, request_all)


@contextmanager
def fastapi_application() -> Iterator[Application]:
    app = FastAPI()
    configure(app, RULES)
    app.get("/front")(lambda: None)
    app.get("/view")(limited("1/min")(lambda: None))
    app.get("/apart")(limited("1/min", store="memory://")(lambda: None))

    def request_all() -> list[int]:
        return [call(app, path).status for path in PATHS]

    yield switched_by_keeper(app.state.headgate.keeper, request_all)


def hello(request: Any) -> HttpResponse:
    return HttpResponse("hello")


async def async_hello(request: Any) -> HttpResponse:
    return HttpResponse("hello")


VIEWS: dict[str, Any] = {"wsgi": hello, "asgi": async_hello}


@contextmanager
def django_application(interface: str) -> Iterator[Application]:
    view = VIEWS[interface]
    limited_view = path("view", django_limit("1/min")(view), name="view")
    with project(path("front", view), limited_view, rules=RULES):
        yield Application(partial(request_django, interface), enable, reset)


@contextmanager
def django_keeper(interface: str) -> Iterator[Application]:
    kind: Any = Gatekeeper if interface == "wsgi" else AsyncGatekeeper
    with django_application(interface) as application:
        yield switched_by_keeper(desk(kind).keeper, application.request_all)


def request_django(interface: str) -> list[int]:
    return [statuses(interface, path, 1)[0] for path in PATHS[:2]]


def switched_by_keeper(keeper: Any, request_all: Callable[[], list[int]]) -> Application:
    def reset_keeper() -> None:
        work = keeper.reset()
        if work is not None:
            asyncio.run(work)

    return Application(request_all, partial(setattr, keeper, "enabled"), reset_keeper)


APPLICATIONS: dict[str, Callable[[], AbstractContextManager[Application]]] = {
    "flask": flask_application,
    "fastapi": fastapi_application,
    "django-wsgi": partial(django_application, "wsgi"),
    "django-asgi": partial(django_application, "asgi"),
    "django-wsgi-keeper": partial(django_keeper, "wsgi"),
    "django-asgi-keeper": partial(django_keeper, "asgi"),
}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_disabled_keeper_admits_all_and_reset_forgets_counts(name: str) -> None:
    with APPLICATIONS[name]() as application:
        found = [application.request_all() for _ in range(2)]
        application.enable(False)
        found += [application.request_all() for _ in range(2)]
        application.enable(True)
        found.append(application.request_all())
        application.reset()
        found += [application.request_all() for _ in range(2)]

    admitted, denied = ([status] * len(found[0]) for status in (200, 429))
    assert found == [admitted, denied, admitted, admitted, denied, admitted, denied]


def test_environment_disables_all_frameworks_and_warns_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", "0")
    caplog.set_level(logging.WARNING, "headgate")
    found = []
    for name in ("flask", "fastapi", "django-wsgi"):
        with APPLICATIONS[name]() as application:
            found += [*application.request_all(), *application.request_all()]

    assert set(found) == {200}
    assert [one.getMessage() for one in caplog.records if one.name == "headgate"] == [
        "HEADGATE_ENABLED=0: no rule is asked, and every request is let in"
    ]
