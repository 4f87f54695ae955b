"""Functions that say who a request is from: of the scope, or of the request."""

from __future__ import annotations

import functools
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI, WebSocket
from starlette.requests import HTTPConnection, Request

from headgate.adapters.fastapi import configure
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import CONNECT, call

if TYPE_CHECKING:
    from fastapi import Request as Asked

RULES = Rules([Rule("api", key="user", limit="1/min")], plans={"paid": {"api": "2/min"}})


class Own(Request):
    """A request of somebody's own."""


class Known:
    """A function that is an object, and has more to say."""

    def __call__(self, request: Request, header: str = "x-user") -> str:
        return request.headers[header]


def by_name(request):  # type: ignore[no-untyped-def]
    return request.headers["x-user"]


def by_class(r: Request) -> str:
    return r.headers["x-user"]


def by_connection(r: HTTPConnection) -> str:
    return r.headers["x-user"]


def by_subclass(r: Own) -> str:
    return r.headers["x-user"]


def by_hidden_class(r: Asked) -> str:
    return r.headers["x-user"]


def by_wrong_class(request: dict[str, Any]) -> str:
    return dict(request["headers"])[b"x-user"].decode()


def by_scope(scope: Any) -> str:
    return dict(scope["headers"])[b"x-user"].decode()


def by_hidden_request(r: starlette.requests.Request) -> str:  # type: ignore[name-defined]  # noqa: F821
    return r.headers["x-user"]  # type: ignore[no-any-return]


def visited(app: FastAPI, user: bytes, **scope: Any) -> int:
    return call(app, "/x", headers=[(b"x-user", user)], **scope).status


def shop(**said: Any) -> FastAPI:
    app = FastAPI()
    configure(app, RULES, **said)

    @app.get("/x")
    def search() -> None: ...

    return app


@pytest.mark.parametrize(
    "user",
    [
        by_name, by_class, by_connection, by_subclass, by_wrong_class, by_scope, by_hidden_request,
        Known(), functools.partial(by_class),
    ],
)  # fmt: skip
def test_a_function_is_given_what_it_expects(user: Any) -> None:
    app = shop(user=user)

    assert [visited(app, name) for name in (b"a", b"a", b"b")] == [200, 429, 200]


def test_a_class_for_type_checkers_alone_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(by_hidden_class.__annotations__, "r", "fastapi.Request")
    app = shop(user=by_hidden_class)

    assert [visited(app, name) for name in (b"a", b"a")] == [200, 429]


def test_the_plan_is_found_in_the_same_way() -> None:
    def plan(request: Request) -> str:
        return "paid" if request.headers["x-user"] == "a" else ""

    app = shop(user=by_name, plan=plan)

    assert [visited(app, name) for name in (b"a", b"a", b"a", b"b", b"b")] == [
        200, 200, 429, 200, 429,
    ]  # fmt: skip


def test_what_has_no_signature_is_given_the_scope() -> None:
    app = shop(user=itemgetter("path"))

    assert [visited(app, b"a"), visited(app, b"b")] == [200, 429]


def test_a_handshake_is_given_as_what_it_is() -> None:
    met: list[str] = []

    def user(request: Request) -> str:
        met.append(type(request).__name__)
        return request.headers["x-user"]

    app = shop(user=user)

    @app.websocket("/chat")
    async def chat(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    options: dict[str, Any] = {"type": "websocket", "says": (CONNECT,)}
    headers = [(b"x-user", b"a")]
    statuses = [call(app, "/chat", headers=headers, **options).status for _ in range(2)]

    assert (statuses, met) == ([101, 1013], ["HTTPConnection"] * 2)


def test_nothing_else_is_adapted() -> None:
    seen: list[Any] = []

    def user(first: Any, second: Any = None) -> str:
        seen.append((type(first), second))
        return "a"

    app = shop(user=user)
    visited(app, b"a")

    assert seen == [(dict, None)]
