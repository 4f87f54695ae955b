"""Rules say a path as the server has it: decoded and whole, whatever it is mounted under."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.serving import serving


async def welcome(request: Any) -> PlainTextResponse:
    return PlainTextResponse(request.scope["path"])


def closed(path: str) -> Rules:
    """Whoever meets this path is told 418."""
    return Rules([Rule("closed", match={"path": path}, deny=418)])


LOGIN = [Route("/login", welcome)]


@pytest.mark.parametrize("asked", ["/login", "/login?next=/", "/%6Cogin", "/logi%6e", "//login"])
def test_every_spelling_that_a_path_is_routed_by_meets_the_rule(asked: str) -> None:
    app = HeadgateMiddleware(Starlette(routes=LOGIN), closed("/login"))

    with serving(app) as site:
        assert site.ask(asked).status == 418


def test_an_escaped_slash_is_a_slash_as_it_is_for_the_router() -> None:
    app = Starlette(routes=[Route("/a/b", welcome)])

    with serving(app) as bare, serving(HeadgateMiddleware(app, closed("/a/b"))) as site:
        assert bare.ask("/a%2Fb").body == b"/a/b"
        assert site.ask("/a%2Fb").status == 418


def test_a_rule_says_the_whole_path_of_what_is_mounted() -> None:
    inner = Starlette(routes=LOGIN)
    app = HeadgateMiddleware(Starlette(routes=[Mount("/v1", inner)]), closed("/v1/login"))

    with serving(app) as site:
        assert site.ask("/v1/login").status == 418


@pytest.mark.parametrize(("path", "status"), [("/v1/login", 418), ("/login", 200)])
def test_a_middleware_in_what_is_mounted_is_told_the_whole_path_too(path: str, status: int) -> None:
    guard = Middleware(HeadgateMiddleware, rules=closed(path))
    inner = Starlette(routes=LOGIN, middleware=[guard])

    with serving(Starlette(routes=[Mount("/v1", inner)])) as site:
        assert site.ask("/v1/login").status == status


@pytest.mark.parametrize(("path", "status"), [("/v1/login", 418), ("/login", 200)])
def test_so_is_one_in_a_sub_application_of_fastapi(path: str, status: int) -> None:
    inner = FastAPI()
    inner.add_route("/login", welcome)
    inner.add_middleware(HeadgateMiddleware, rules=closed(path))
    app = FastAPI()
    app.mount("/v1", inner)

    with serving(app) as site:
        assert site.ask("/v1/login").status == status


@pytest.mark.parametrize(("path", "status"), [("/api/login", 418), ("/login", 200)])
def test_the_root_path_of_a_server_belongs_to_the_path(path: str, status: int) -> None:
    # The proxy in front has taken /api away, and uvicorn puts it back.
    app = HeadgateMiddleware(Starlette(routes=LOGIN), closed(path))

    with serving(app, root_path="/api") as site:
        assert site.ask("/login").status == status


@pytest.mark.parametrize(("path", "status"), [("/login", 418), ("/api/login", 200)])
def test_the_root_path_of_fastapi_does_not(path: str, status: int) -> None:
    app = FastAPI()
    app.root_path = "/api"
    app.add_route("/login", welcome)
    app.add_middleware(HeadgateMiddleware, rules=closed(path))

    with serving(app) as site:
        assert site.ask("/login").status == status
