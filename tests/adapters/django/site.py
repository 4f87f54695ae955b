"""A Django project of one module: its settings, its views, and a stage for the scenes of parity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import django
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import re_path

from headgate import Clock
from headgate.rules.model.rules import Rules
from tests.adapters.parity import Driver, Heard, behave
from tests.adapters.wire import called, environment, scope, talk

MIDDLEWARE = "headgate.adapters.django.middleware.HeadgateMiddleware"

if not settings.configured:
    settings.configure(
        SECRET_KEY="not one",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="tests.adapters.django.site",
        MIDDLEWARE=[MIDDLEWARE],
        HEADGATE={"RULES": Rules()},
        DEFAULT_CHARSET="utf-8",
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
        REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
        LOGGING_CONFIG=None,
    )
    django.setup()

STAGE: list[Driver] = []


def anything(request: HttpRequest) -> HttpResponse:
    said = {name.lower(): value for name, value in request.headers.items()}
    heard = behave(STAGE[-1], str(request.method), request.path, said)
    return HttpResponse(heard.body, status=heard.status, headers=heard.headers)


urlpatterns = [re_path(r"^.*$", anything)]


@contextmanager
def project(
    *views: Any, middleware: tuple[str, ...] = (MIDDLEWARE,), **said: Any
) -> Iterator[None]:
    """The project with other views, and with what `HEADGATE` says in its settings."""
    with override_settings(
        ROOT_URLCONF=views or "tests.adapters.django.site",
        MIDDLEWARE=[*middleware],
        HEADGATE={word.upper(): value for word, value in said.items()},
    ):
        yield


def ask(way: str, path: str, method: str = "GET", **headers: str) -> Heard:
    """The answer of the project, under WSGI or ASGI."""
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    if way == "asgi":
        return async_to_sync(talk)(ASGIHandler(), scope(method, path, said))
    return called(WSGIHandler(), environment(method, path, said))


def statuses(way: str, path: str, times: int, **headers: str) -> list[int]:
    """The statuses of several answers."""
    return [ask(way, path, **headers).status for _ in range(times)]


@contextmanager
def staged(driver: Driver, rules: Rules, clock: Clock) -> Iterator[Driver]:
    """The project with these rules, and a driver that its view may use."""
    STAGE.append(driver)
    with override_settings(HEADGATE={"RULES": rules, "CLOCK": clock}):
        yield driver
    STAGE.pop()


def heard(response: Any, body: bytes) -> Heard:
    """What a client of Django's has got."""
    headers: Mapping[str, str] = response.headers
    return Heard(response.status_code, {word.lower(): said for word, said in headers.items()}, body)
