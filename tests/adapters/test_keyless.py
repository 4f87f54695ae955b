"""Requests that nobody can be counted by: what they are told, and what the log tells of them."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from fastapi import FastAPI
from flask import Flask

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.fastapi import configure, limited
from headgate.adapters.flask import Headgate
from headgate.adapters.http.herald import detail
from headgate.adapters.wsgi import HeadgateMiddleware as WsgiMiddleware
from headgate.rules.live.entry import Refusal
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import call
from tests.adapters.django.site import ask, project
from tests.adapters.grpc.service import COLOURS, served
from tests.adapters.wire import called, environment

NOBODY = "The request does not say who it is from."
OWN = Rules([Rule("own", key="user", limit="5/min")])
KEYED = Rules([Rule("keyed", key="header.x-api-key", limit="5/min")])
WARNING = (
    'rule "{}" counts by user, and no request so far had one; say who requests are from with '
    'user=, or HEADGATE["USER"] in Django'
)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log tells."""
    caplog.set_level(logging.WARNING, "headgate")
    return Messages(caplog)  # type: ignore[return-value]


class Messages:
    """Those of this package, so far."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __eq__(self, other: object) -> bool:
        return [one.getMessage() for one in self._caplog.records if one.name == "headgate"] == other

    __hash__ = None  # type: ignore[assignment]


async def welcome(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def hello(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [])
    return [b"hello"]


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("header.X-Api-Key", "The request has no header x-api-key."),
        ("query.token", "The request has no query parameter token."),
        ("cookie.session", "The request has no cookie session."),
        ("user:{header.x-user}", "The request has no header x-user."),
        (["client.ip", "method", "header.x-user"], "The request has no header x-user."),
        (["header.x-a", "cookie.b"], "The request has no header x-a or no cookie b."),
        (["header.x-a", "{header.x-a}:"], "The request has no header x-a."),
        ("user", NOBODY),
        (["user", "header.x-a"], NOBODY),
        ("plan", NOBODY),
        ("host", NOBODY),
        ("client.ip", NOBODY),
        ("path.id", NOBODY),
    ],
)
def test_what_is_missing_is_named_where_clients_carry_it(key: Any, sentence: str) -> None:
    rule = Rule("api", match={"path": "/{id}"}, key=key, limit="1/s")

    assert detail(Refusal("key", rule), "api") == sentence


def test_the_problem_says_what_is_missing() -> None:
    refused = call(HeadgateMiddleware(welcome, KEYED))

    assert (refused.status, json.loads(refused.body)["detail"]) == (
        403,
        "The request has no header x-api-key.",
    )


@pytest.mark.parametrize("colour", COLOURS)
def test_a_call_is_told_what_is_missing_and_the_log_who(
    colour: str, clock: Any, told: list[str]
) -> None:
    with served(colour, KEYED, clock) as stub:
        assert stub.ask("Get").details == "The request has no header x-api-key."
    assert told == []
    with served(colour, OWN, clock) as stub:
        assert [stub.ask("Get").details for _ in range(2)] == [NOBODY, NOBODY]
    assert told == [WARNING.format("own")]


def test_the_log_tells_once_of_a_rule_that_has_met_no_user(told: list[str]) -> None:
    rules = [
        Rule("one", match={"path": "/one"}, key=["client.ip", "user"], limit="5/min"),
        Rule("two", match={"path": "/two"}, key="user", limit="5/min", over="wait 1s"),
    ]
    app = HeadgateMiddleware(welcome, Rules(rules))

    assert [call(app, path).status for path in ("/one", "/one", "/two", "/two")] == [403] * 4
    assert told == [WARNING.format("one"), WARNING.format("two")]


def test_the_log_does_not_tell_where_somebody_had_one(told: list[str]) -> None:
    app = HeadgateMiddleware(welcome, OWN, user=lambda scope: scope["path"].strip("/"))

    assert [call(app, path).status for path in ("/a", "/", "/")] == [200, 403, 403]
    assert told == []


def test_the_log_tells_again_of_no_rule_that_changes(told: list[str]) -> None:
    app = HeadgateMiddleware(welcome, OWN)
    call(app)
    app.keeper.change(Rules([Rule("own", key="user", limit="6/min")]))
    call(app)

    assert told == [WARNING.format("own")]


def test_every_framework_tells_the_log(told: list[str]) -> None:
    flask, fastapi = Flask("shop"), FastAPI()
    Headgate(flask, OWN)
    configure(fastapi, Rules())

    @fastapi.get("/x")
    @limited("5/min", key="user", name="route")
    async def search() -> None: ...

    found = [
        called(WsgiMiddleware(hello, OWN), environment("GET", "/", {})).status,
        flask.test_client().get("/").status_code,
        call(fastapi, "/x").status,
    ]
    with project(rules=OWN, user=lambda request: None):
        found += [ask("wsgi", "/").status, ask("asgi", "/").status]

    assert found == [403] * 5
    assert told == [WARNING.format(name) for name in ("own", "own", "route", "own", "own")]
