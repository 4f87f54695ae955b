"""Views of Django that fail, and what those who let them in hear of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpResponse
from django.template import engines
from django.template.response import TemplateResponse
from django.urls import path
from rest_framework.exceptions import NotAuthenticated, NotFound

from headgate import ManualClock
from headgate.adapters.django.decorator import limit
from headgate.adapters.django.stream import failed
from tests.adapters.django.site import ask, project, statuses

WAYS = pytest.mark.parametrize("way", ["wsgi", "asgi"])
BREAKER = {"failures": 0.5, "calls": 3, "status": ["5xx"]}


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (Http404(), 404),
        (PermissionDenied(), 403),
        (SuspiciousOperation(), 400),
        (BadRequest(), 400),
        (NotFound(), 404),
        (NotAuthenticated(), 401),
        (GeneratorExit(), 499),
        (ValueError(), 0),
    ],
)
def test_the_status_that_an_exception_leads_to(problem: BaseException, status: int) -> None:
    assert failed(problem) == status


def missing(request: Any) -> HttpResponse:
    raise Http404


@WAYS
def test_what_is_not_found_opens_no_breaker_and_can_be_counted(
    way: str, clock: ManualClock
) -> None:
    views = [
        path("guarded", limit(breaker=BREAKER)(missing)),
        path("counted", limit("3/min", counts={"status": [404]})(missing)),
    ]

    with project(*views, middleware=(), clock=clock):
        assert statuses(way, "/guarded", 6) == [404] * 6
        assert statuses(way, "/counted", 5) == [404] * 3 + [429] * 2


def page(request: Any) -> TemplateResponse:
    def boom() -> str:
        raise LookupError("lost")

    template: Any = engines["django"].from_string("{{ said }}")
    return TemplateResponse(request, template, {"said": boom if "bad" in request.GET else "x"})


@WAYS
def test_a_template_that_fails_gives_its_place_back_at_once(way: str, clock: ManualClock) -> None:
    with project(path("page", limit(concurrent=1)(page)), middleware=(), clock=clock):
        assert statuses(way, "/page?bad=1", 3) == [500] * 3
        assert ask(way, "/page").status == 200


@WAYS
def test_a_breaker_hears_of_templates_that_fail(way: str, clock: ManualClock) -> None:
    with project(path("page", limit(breaker=BREAKER)(page)), middleware=(), clock=clock):
        assert statuses(way, "/page?bad=1", 3) == [500] * 3
        assert ask(way, "/page").status == 503
