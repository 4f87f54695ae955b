"""Limits at the views of a Django project."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test import RequestFactory
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View

from headgate import ManualClock
from headgate.adapters.django.decorator import limit
from headgate.errors import RulesError
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.django.people import plain
from tests.adapters.django.site import MIDDLEWARE, ask, project, statuses

WAYS = pytest.mark.parametrize("way", ["wsgi", "asgi"])
BOTH = (MIDDLEWARE,)
NONE: tuple[str, ...] = ()


def hello(request: Any, **found: Any) -> HttpResponse:
    return HttpResponse("hello")


async def later(request: Any, **found: Any) -> HttpResponse:
    return HttpResponse("hello")


class Page(View):
    """A view of a class."""

    def get(self, request: Any) -> HttpResponse:
        return HttpResponse("hello")


class LaterPage(View):
    """One that is awaited."""

    async def get(self, request: Any) -> HttpResponse:
        return HttpResponse("hello")


def whole(kind: type[View]) -> Any:
    decorated = method_decorator(limit("2/min", by="fixed_window"), name="dispatch")
    return decorated(type("Whole", (kind,), {})).as_view()


def method(kind: type[View]) -> Any:
    decorated = method_decorator(limit("2/min", by="fixed_window"), name="get")
    return decorated(type("Method", (kind,), {})).as_view()


VIEWS = {
    "a function": lambda: limit("2/min", by="fixed_window")(hello),
    "a coroutine": lambda: limit("2/min", by="fixed_window")(later),
    "a class": lambda: whole(Page),
    "a method": lambda: method(Page),
    "a class that is awaited": lambda: whole(LaterPage),
    "a method that is awaited": lambda: method(LaterPage),
    "what a class makes": lambda: limit("2/min", by="fixed_window")(Page.as_view()),
    "what a class makes that is awaited": lambda: limit("2/min", by="fixed_window")(
        LaterPage.as_view()
    ),
}


@WAYS
@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("middleware", [BOTH, NONE], ids=["both", "alone"])
def test_every_kind_of_view_has_a_limit(
    way: str, kind: str, middleware: tuple[str, ...], clock: ManualClock
) -> None:
    views = [path("login", VIEWS[kind](), name="login"), path("free", hello)]
    with project(*views, middleware=middleware, rules=Rules(), clock=clock):
        answers = [ask(way, "/login") for _ in range(3)]
        free = statuses(way, "/free", 5)

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"login";r=1;t=60', '"login";r=0;t=60', '"login";r=0;t=60',
    ]  # fmt: skip
    assert free == [200] * 5


@WAYS
def test_a_rule_is_called_after_its_view_or_as_one_says(way: str, clock: ManualClock) -> None:
    shop = ([path("buy", limit("9/min")(hello), name="buy")], "shop")
    views = [
        path("shop/", include(shop)),
        path("named", limit("9/min", name="mine")(hello), name="other"),
        path("bare", limit("9/min")(hello)),
    ]
    with project(*views, clock=clock, middleware=NONE):
        policies = [
            ask(way, target).headers["ratelimit-policy"]
            for target in ("/shop/buy", "/named", "/bare")
        ]

    assert policies == [
        '"shop:buy";q=9;w=60',
        '"mine";q=9;w=60',
        '"tests.adapters.django.test_decorator.hello";q=9;w=60',
    ]


@WAYS
def test_keys_and_all_else_are_those_of_rules(way: str, clock: ManualClock) -> None:
    fields: dict[str, Any] = {
        "key": "header.x-user", "match": {"method": "GET"}, "over": {"degrade": {"body": "less"}},
    }  # fmt: skip
    with project(path("", limit("1/min", **fields)(hello)), middleware=NONE, clock=clock):
        bodies = [ask(way, "/", x_user=name).body for name in ("ann", "ann", "bob")]
        others = [ask(way, "/", "POST", x_user="ann").body for _ in range(2)]

    assert (bodies, others) == ([b"hello", b"less", b"hello"], [b"hello", b"hello"])


@WAYS
def test_the_rules_of_the_file_come_first_and_all_is_told_at_once(
    way: str, clock: ManualClock
) -> None:
    view = limit("3/min", by="fixed_window")(limit("1/min", by="fixed_window")(hello))
    rules = Rules([Rule("all", limit="2/min", by="fixed_window")])
    with project(path("a", view, name="a"), rules=rules, clock=clock):
        answers = [ask(way, "/a") for _ in range(3)]

    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"all";r=1;t=60, "a";r=2;t=60, "a.2";r=0;t=60',
        '"all";r=0;t=60, "a";r=1;t=60, "a.2";r=0;t=60',
        '"all";r=0;t=60',
    ]
    assert [answer.status for answer in answers] == [200, 429, 429]


@WAYS
def test_who_is_signed_in_has_a_limit(way: str, clock: ManualClock) -> None:
    view = limit("1/min", key="user")
    with project(path("", view(hello)), middleware=NONE, clock=clock, user=plain):
        assert statuses(way, "/", 2, x_person="ann") == [200, 429]
    with project(path("", view(later)), middleware=NONE, clock=clock, user=plain):
        assert statuses(way, "/", 2, x_person="ann") == [200, 429]


@WAYS
def test_plans_and_clients_are_those_of_the_file(way: str, clock: ManualClock) -> None:
    rules = Rules(client={"trusted_hops": 1}, plan="header.x-plan", plans={"vip": "unlimited"})
    view = limit("1/min", key="client.ip")(hello)
    with project(path("", view), middleware=NONE, rules=rules, clock=clock):
        first = statuses(way, "/", 2, x_forwarded_for="203.0.113.1")
        second = statuses(way, "/", 2, x_forwarded_for="203.0.113.2", x_plan="vip")

    assert (first, second) == ([200, 429], [200, 200])


@WAYS
@pytest.mark.parametrize("view", [hello, later])
def test_only_some_answers_count(way: str, view: Any, clock: ManualClock) -> None:
    def failing(request: Any) -> HttpResponse:
        return HttpResponse(status=int(request.headers["x-answer"]))

    async def afailing(request: Any) -> HttpResponse:
        return failing(request)

    chosen = limit("1/min", counts={"status": 401})(failing if view is hello else afailing)
    with project(path("", chosen), middleware=NONE, clock=clock):
        found = [ask(way, "/", x_answer=said).status for said in ("200", "200", "401", "200")]

    assert found == [200, 200, 401, 429]


@WAYS
@pytest.mark.parametrize("awaits", [False, True])
def test_a_place_is_given_back_when_a_view_fails(way: str, awaits: bool) -> None:
    def fail(request: Any) -> HttpResponse:
        if "x-fail" in request.headers:
            raise KeyError("x")
        return HttpResponse("well")

    async def afail(request: Any) -> HttpResponse:
        return fail(request)

    view = limit(concurrent=1)(afail if awaits else fail)
    with project(path("", view), middleware=NONE):
        assert statuses(way, "/", 3, x_fail="1") == [500] * 3
        assert statuses(way, "/", 2) == [200] * 2


@WAYS
@pytest.mark.parametrize("awaits", [False, True])
def test_what_a_template_costs_is_known_when_it_is_rendered(
    way: str, awaits: bool, clock: ManualClock
) -> None:
    def view(request: Any) -> Any:
        return SimpleTemplateResponse(engines["django"].from_string("{{ 12345 }}67890"))

    async def aview(request: Any) -> Any:
        return view(request)

    chosen = limit("10/min", cost={"by": "response.body"})(aview if awaits else view)
    with project(path("", chosen), middleware=NONE, clock=clock):
        assert statuses(way, "/", 2) == [200, 429]


@WAYS
@pytest.mark.parametrize("awaits", [False, True])
def test_a_template_flows_as_rules_will_have_it(way: str, awaits: bool, clock: ManualClock) -> None:
    def view(request: Any) -> Any:
        return SimpleTemplateResponse(engines["django"].from_string("x" * 30_000))

    async def aview(request: Any) -> Any:
        return view(request)

    chosen = limit(bandwidth="10KB/s")(aview if awaits else view)
    with project(path("", chosen), middleware=NONE, clock=clock):
        answer = ask(way, "/")

    assert (len(answer.body), clock.now() / 1e6) == (30_000, 2.0)


def test_a_method_is_decorated_as_such(clock: ManualClock) -> None:
    class Wrong(View):
        @limit("1/min")
        def get(self, request: Any) -> HttpResponse:
            return HttpResponse("hello")

    with project(middleware=NONE, clock=clock), pytest.raises(TypeError) as caught:
        Wrong.as_view()(RequestFactory().get("/"))

    assert str(caught.value) == (
        "limit: test_a_method_is_decorated_as_such.<locals>.Wrong.get is a method; "
        "use @method_decorator(limit(...))"
    )


def test_a_view_that_is_called_by_itself_is_known_by_its_name(clock: ManualClock) -> None:
    view = limit("1/min")(hello)
    with project(middleware=NONE, clock=clock):
        answers = [view(RequestFactory().get("/")) for _ in range(2)]
        coroutine = async_to_sync(limit("1/min")(later))(RequestFactory().get("/"))

    assert [answer.status_code for answer in answers] == [200, 429]
    assert [answer.headers["ratelimit-policy"] for answer in (answers[0], coroutine)] == [
        '"hello";q=1;w=60', '"later";q=1;w=60',
    ]  # fmt: skip


def test_a_limit_that_is_none_is_refused_where_it_is_written() -> None:
    with pytest.raises(RulesError) as caught:
        limit("5/sex")

    assert "unknown unit" in str(caught.value)
