"""Rules in front of a Django project."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test import override_settings
from django.urls import path

from headgate import ManualClock, MissingExtra
from headgate.adapters.django.desk import change, desk
from headgate.errors import RulesError
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.django.people import ASKED
from tests.adapters.django.site import MIDDLEWARE, ask, project, statuses

PEOPLE = "tests.adapters.django.people."
ONCE = Rules([Rule("once", limit="1/min")])
ALONE = Rules([Rule("alone", concurrent=1)])
OWN = Rules(
    [Rule("own", match={"path": "/own"}, key="user", limit="1/min")],
    plans={"paid": {"own": "2/min"}},
)
WAYS = pytest.mark.parametrize("way", ["wsgi", "asgi"])


def hello(request: Any) -> HttpResponse:
    return HttpResponse("hello", headers={"x-own": "yes"})


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    ASKED.clear()
    yield
    ASKED.clear()


@WAYS
def test_rules_stand_in_front_of_the_project(way: str, clock: ManualClock) -> None:
    with project(path("", hello), rules=ONCE, clock=clock):
        allowed, refused = ask(way, "/"), ask(way, "/")

    assert (allowed.body, allowed.headers["ratelimit"], allowed.headers["x-own"]) == (
        b"hello", '"once";r=0;t=60', "yes",
    )  # fmt: skip
    assert refused.headers == {
        "content-type": "application/problem+json",
        "content-length": str(len(refused.body)),
        "cache-control": "no-store",
        "retry-after": "60",
        "ratelimit-policy": '"once";q=1;w=60',
        "ratelimit": '"once";r=0;t=60',
    }


@WAYS
def test_what_is_not_found_is_counted_too(way: str, clock: ManualClock) -> None:
    with project(path("", hello), rules=ONCE, clock=clock):
        assert statuses(way, "/nothing", 2) == [404, 429]


@WAYS
def test_the_entry_is_at_the_request(way: str, clock: ManualClock) -> None:
    def view(request: Any) -> HttpResponse:
        return HttpResponse(" ".join(request.META["headgate.entry"].decisions))

    with project(path("", view), rules=ONCE, clock=clock):
        assert ask(way, "/").body == b"once"


def test_rules_may_be_in_a_file_and_the_store_elsewhere(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "rules.json").write_text(
        '{"version": 1, "store": "redis://nowhere", "rules": [{"name": "once", "limit": "1/min"}]}'
    )
    with project(path("", hello), rules=tmp_path / "rules.json", store="memory://", clock=clock):
        assert statuses("wsgi", "/", 2) == [200, 429]


def test_rules_may_be_a_gatekeeper(clock: ManualClock) -> None:
    keeper = Gatekeeper(ONCE, clock=clock)
    with project(path("", hello), rules=keeper):
        assert statuses("wsgi", "/", 2) == [200, 429]
        assert desk(Gatekeeper).keeper is keeper
        assert desk(AsyncGatekeeper).keeper.rules == ONCE


def test_rules_may_change(clock: ManualClock) -> None:
    with project(path("", hello), rules=ONCE, clock=clock):
        assert [statuses(way, "/", 2) for way in ("wsgi", "asgi")] == [[200, 429]] * 2
        change(Rules([Rule("twice", limit="2/min")], headers="x-delta"))
        assert [statuses(way, "/", 3) for way in ("wsgi", "asgi")] == [[200, 200, 429]] * 2
        assert "x-ratelimit-reset" in ask("asgi", "/").headers
        with pytest.raises(RulesError):
            change("nowhere.json")
        assert statuses("wsgi", "/", 1) == [429]


def test_the_middleware_needs_rules() -> None:
    with project(path("", hello)), pytest.raises(ImproperlyConfigured) as caught:
        WSGIHandler()

    assert str(caught.value) == (
        "HeadgateMiddleware: HEADGATE has no RULES; name a file, as in "
        'HEADGATE = {"RULES": BASE_DIR / "rules.yaml"}'
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("RULE", "RULES"),
        ("rules", "RULES"),
        ("TTL", "RULES, STORE, WATCH, USER, PLAN, SCOPES, CLOCK"),
    ],
)
def test_a_word_that_means_nothing_is_refused(word: str, hint: str) -> None:
    with override_settings(HEADGATE={word: ONCE}), pytest.raises(ImproperlyConfigured) as caught:
        WSGIHandler()

    assert str(caught.value) == f'HEADGATE: there is no "{word}"; try {hint}'


def test_rules_that_are_wrong_keep_the_project_from_starting(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"version": 1, "rules": [{"name": "x"}]}')
    with project(rules=tmp_path / "rules.json"), pytest.raises(RulesError):
        WSGIHandler()


@WAYS
def test_the_user_is_looked_up_when_a_rule_asks(way: str, clock: ManualClock) -> None:
    middleware = (PEOPLE + "authentication", MIDDLEWARE)
    views = [path("own", hello), path("free", hello)]
    with project(*views, middleware=middleware, rules=OWN, clock=clock):
        assert statuses(way, "/free", 2, x_person="ann") == [200, 200]
        assert ASKED == []
        assert statuses(way, "/own", 2, x_person="ann") == [200, 429]
        assert statuses(way, "/own", 1, x_person="bob") == [200]
        assert statuses(way, "/own", 1) == [403]

    assert [{"wsgi": "sync", "asgi": "async"}[way]] * 4 == ASKED


@WAYS
def test_the_user_must_be_known_before_the_rules_ask(
    way: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    middleware = (MIDDLEWARE, PEOPLE + "authentication")
    with project(path("own", hello), middleware=middleware, rules=OWN, clock=clock):
        answer = ask(way, "/own")

    error: Any = caplog.records[-1].exc_info
    assert answer.status == 500
    assert str(error[1]) == (
        "a rule asks for the user, and the request has none yet; in MIDDLEWARE, put "
        'AuthenticationMiddleware before HeadgateMiddleware, or say HEADGATE["USER"]'
    )


@WAYS
@pytest.mark.parametrize("user", ["plain", "awaited"])
def test_who_it_is_and_what_they_have_booked_is_as_one_says(
    way: str, user: str, clock: ManualClock
) -> None:
    said = {"user": PEOPLE + user, "plan": PEOPLE + "plan"}
    with project(path("own", hello), rules=OWN, clock=clock, **said):
        assert statuses(way, "/own", 2, x_person="ann") == [200, 429]
        assert statuses(way, "/own", 3, x_person="bob", x_plan="paid") == [200, 200, 429]
        assert statuses(way, "/own", 1) == [403]


@WAYS
def test_the_plan_is_where_another_middleware_has_put_it(way: str, clock: ManualClock) -> None:
    rules = Rules([Rule("own", limit="1/min")], plans={"paid": {"own": "2/min"}})
    with project(path("", hello), middleware=(PREPARED, MIDDLEWARE), rules=rules, clock=clock):
        assert statuses(way, "/", 3) == [200, 200, 429]


class Prepared:
    """Puts a plan at every request."""

    async_capable = False

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        request.plan = "paid"
        return self.get_response(request)


PREPARED = f"{__name__}.Prepared"


@pytest.mark.parametrize(
    "middleware",
    [
        (PEOPLE + "sync_only", MIDDLEWARE),
        (MIDDLEWARE, PEOPLE + "sync_only"),
        (PEOPLE + "sync_only", MIDDLEWARE, PEOPLE + "sync_only"),
    ],
)
@WAYS
def test_it_stands_among_others_of_either_colour(
    way: str, middleware: tuple[str, ...], clock: ManualClock
) -> None:
    with project(path("", hello), middleware=middleware, rules=ONCE, clock=clock):
        assert statuses(way, "/", 2) == [200, 429]


@WAYS
def test_a_place_is_held_while_a_view_answers(way: str) -> None:
    def view(request: Any) -> HttpResponse:
        inner = ask(way, "/inner").status if request.path == "/" else 0
        return HttpResponse(str(inner))

    with project(path("", view), path("inner", view), rules=ALONE):
        assert [ask(way, "/").body for _ in range(2)] == [b"503"] * 2


@WAYS
def test_a_place_is_given_back_when_a_view_fails(way: str) -> None:
    def fail(request: Any) -> HttpResponse:
        raise KeyError("x")

    with project(path("", fail), path("well", hello), rules=ALONE):
        assert [*statuses(way, "/", 3), *statuses(way, "/well", 1)] == [500, 500, 500, 200]


@WAYS
def test_a_place_is_given_back_though_the_answer_is_replaced(way: str) -> None:
    middleware = (f"{__name__}.replacing", MIDDLEWARE)
    with project(path("", hello), middleware=middleware, rules=ALONE):
        assert [ask(way, "/").body for _ in range(3)] == [b"another"] * 3


def replacing(get_response: Any) -> Any:
    """Answers with something else."""

    def middleware(request: Any) -> HttpResponse:
        get_response(request)
        return HttpResponse("another")

    return middleware


@WAYS
def test_a_template_is_rendered_before_its_bytes_are_counted(way: str, clock: ManualClock) -> None:
    def view(request: Any) -> Any:
        return SimpleTemplateResponse(
            engines["django"].from_string("{% if 1 %}ten bytes!{% endif %}")
        )

    rules = Rules([Rule("sent", limit="10/min", cost={"by": "response.body"})])
    with project(path("", view), rules=rules, clock=clock):
        assert statuses(way, "/", 2) == [200, 429]


@WAYS
def test_headers_of_the_view_stay(way: str, clock: ManualClock) -> None:
    def view(request: Any) -> HttpResponse:
        return HttpResponse("x", headers={"RateLimit": '"upstream";r=5'})

    with project(path("", view), rules=ONCE, clock=clock):
        assert ask(way, "/").headers["ratelimit"] == '"upstream";r=5, "once";r=0;t=60'


@pytest.mark.parametrize("module", ["middleware", "decorator", "desk", "throttle"])
def test_without_django_there_is_a_hint(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, "django", None)
    for name in [*sys.modules]:
        if name.startswith("headgate.adapters.django"):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module(f"headgate.adapters.django.{module}")

    assert str(caught.value) == (
        'the extra "django" is not installed; try pip install "headgate[django]"'
    )
