"""Limits at the views of Django REST framework."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import path
from django.utils.decorators import method_decorator
from rest_framework.authentication import BaseAuthentication
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.response import Response
from rest_framework.views import APIView

from headgate import ManualClock, MissingExtra
from headgate.adapters.django.decorator import limit
from headgate.adapters.django.throttle import HeadgateThrottle
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.django.site import MIDDLEWARE, ask, project, statuses

NONE: tuple[str, ...] = ()


class Token(BaseAuthentication):
    """Signs in who says a name."""

    def authenticate(self, request: Any) -> Any:
        name = request.headers.get("x-token")
        return name and (SimpleNamespace(pk=name, is_authenticated=True), None)


def view(**attributes: Any) -> Any:
    """A view with these attributes."""

    def get(self: Any, request: Any) -> Response:
        return Response({"hello": "world"})

    known = {
        "get": get,
        "throttle_classes": [HeadgateThrottle],
        "authentication_classes": [Token],
        "__module__": "shop",
        "__qualname__": "Page",
    }
    return type("Page", (APIView,), {**known, **attributes}).as_view()


@pytest.mark.parametrize("middleware", [NONE, (MIDDLEWARE,)], ids=["alone", "both"])
def test_a_view_says_its_rules(middleware: tuple[str, ...], clock: ManualClock) -> None:
    page = view(throttle_rules={"limit": "2/min", "key": "user", "by": "fixed_window"})
    with project(path("", page), middleware=middleware, rules=Rules(), clock=clock):
        answers = [ask("wsgi", "/", x_token="ann") for _ in range(3)]
        clock.advance(30.5)
        answers.append(ask("wsgi", "/", x_token="ann"))
        other = ask("wsgi", "/", x_token="bob")

    assert [answer.status for answer in [*answers, other]] == [200, 200, 429, 429, 200]
    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"shop.Page";r=1;t=60',
        '"shop.Page";r=0;t=60',
        '"shop.Page";r=0;t=60',
        '"shop.Page";r=0;t=30',
    ]
    assert [answer.headers.get("retry-after") for answer in answers] == [None, None, "60", "30"]
    assert answers[2].body == (
        b'{"detail":"Request was throttled. Expected available in 60 seconds."}'
    )


@pytest.mark.parametrize(
    ("rules", "policies"),
    [
        ("2/min", '"shop.Page";q=2;w=60'),
        (["2/s", {"limit": "9/h", "name": "hourly"}], '"shop.Page";q=2;w=1, "hourly";q=9;w=3600'),
    ],
)
def test_rules_are_a_rate_or_several(rules: Any, policies: str, clock: ManualClock) -> None:
    with project(path("", view(throttle_rules=rules)), middleware=NONE, clock=clock):
        answers = [ask("wsgi", "/") for _ in range(3)]

    assert answers[0].headers["ratelimit-policy"] == policies
    assert [answer.status for answer in answers] == [200, 200, 429]


def test_a_scope_is_said_in_the_settings(clock: ManualClock) -> None:
    scopes = {"uploads": {"limit": "1/min", "key": "client.ip"}, "search": "2/min"}
    views = [path(word, view(throttle_scope=scope)) for word, scope in PLACES.items()]
    with project(*views, middleware=NONE, scopes=scopes, clock=clock):
        found = [ask("wsgi", f"/{word}").status for word in [*PLACES, *PLACES]]
        policy = ask("wsgi", "/find").headers["ratelimit-policy"]

    assert (found, policy) == ([200, 429, 200, 429, 429, 200], '"search";q=2;w=60')


PLACES = {"photo": "uploads", "film": "uploads", "find": "search"}


def test_a_view_that_says_nothing_is_not_limited(clock: ManualClock) -> None:
    with project(path("", view()), middleware=NONE, clock=clock):
        answer = ask("wsgi", "/")

    assert (answer.status, "ratelimit" in answer.headers) == (200, False)


def test_a_function_may_be_a_view(clock: ManualClock) -> None:
    @api_view(["GET"])
    @throttle_classes([HeadgateThrottle])
    def page(request: Any) -> Response:
        return Response({})

    page.cls.throttle_rules = "1/min"
    with project(path("", page), middleware=NONE, clock=clock):
        assert statuses("wsgi", "/", 2) == [200, 429]


def test_throttles_and_the_rules_of_the_file_are_told_of_together(clock: ManualClock) -> None:
    page = view(throttle_rules={"limit": "1/min", "by": "fixed_window"})
    rules = Rules([Rule("all", limit="5/min", by="fixed_window")])
    with project(path("", page), rules=rules, clock=clock):
        answers = [ask("wsgi", "/"), ask("wsgi", "/")]

    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"all";r=4;t=60, "shop.Page";r=0;t=60',
        '"all";r=3;t=60, "shop.Page";r=0;t=60',
    ]


@pytest.mark.parametrize(
    ("rules", "status", "body", "wait"),
    [
        (
            {"limit": "1/min", "key": "header.x-user"},
            403,
            b'{"detail":"The request has no header x-user."}',
            None,
        ),
        ({"deny": True}, 403, b'{"detail":"The request is denied."}', None),
        (
            {"limit": "1/day", "cost": 2, "over": "reject 503"},
            503,
            b'{"detail":"Policy \\"shop.Page\\" never allows as much at once."}',
            None,
        ),
    ],
)
def test_what_is_not_too_much_has_another_status(
    rules: Any, status: int, body: bytes, wait: str | None, clock: ManualClock
) -> None:
    with project(path("", view(throttle_rules=rules)), middleware=NONE, clock=clock):
        answer = ask("wsgi", "/")

    assert (answer.status, answer.body, answer.headers.get("retry-after")) == (status, body, wait)


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        ({"concurrent": 1}, "concurrent"),
        ({"limit": "1/s", "counts": {"status": 401}}, "counts"),
        ({"bandwidth": "1KB/s"}, "bandwidth"),
        ({"limit": "1/s", "cost": {"by": "response.body"}}, "cost"),
        ({"limit": "1/s", "over": "redirect /busy"}, "over"),
    ],
)
def test_a_throttle_does_not_answer(rules: Any, word: str, clock: ManualClock) -> None:
    page = view(throttle_rules=rules)
    with project(middleware=NONE, clock=clock), pytest.raises(ImproperlyConfigured) as caught:
        allowed(page)

    assert str(caught.value) == (
        f"HeadgateThrottle: shop.Page: a throttle has no {word}, for it does not answer; "
        "use limit, or a rule of the middleware"
    )


def test_a_scope_that_is_none_is_an_error(clock: ManualClock) -> None:
    page = view(throttle_scope="nowhere")
    with project(middleware=NONE, clock=clock), pytest.raises(ImproperlyConfigured) as caught:
        allowed(page)

    assert str(caught.value) == 'HeadgateThrottle: HEADGATE["SCOPES"] has no "nowhere"'


def allowed(page: Any) -> bool:
    """What the throttle says by itself."""
    from rest_framework.test import APIRequestFactory

    return HeadgateThrottle().allow_request(APIRequestFactory().get("/"), page.cls())


def test_a_limit_may_stand_at_such_a_view_too(clock: ManualClock) -> None:
    class Login(APIView):
        def get(self, request: Any) -> Response:
            return Response({"said": "no"}, status=int(request.headers["x-answer"]))

    decorated = method_decorator(limit("1/min", counts={"status": 401}), name="dispatch")
    with project(path("", decorated(Login).as_view()), middleware=NONE, clock=clock):
        found = [ask("wsgi", "/", x_answer=said).status for said in ("200", "401", "200")]

    assert found == [200, 401, 429]


def test_without_rest_framework_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rest_framework.throttling", None)
    monkeypatch.delitem(sys.modules, "headgate.adapters.django.throttle")
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("headgate.adapters.django.throttle")

    assert str(caught.value) == (
        'the extra "drf" is not installed; try pip install "headgate[drf]"'
    )
