"""The same rules in front of four frameworks, each served for real, with the same answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.serving import Said, Site, serving
from tests.servers.waiting import until

PART = b"x" * 1000
RULES = Rules(
    [
        Rule("login", match={"method": "POST", "path": "/login"}, key="client.ip", limit="2/h"),
        Rule("search", match={"path": "/search"}, limit="2/h"),
        Rule("stream", match={"path": "/stream"}, key="client.ip", concurrent=1),
        Rule("fail", match={"path": "/fail"}, concurrent=1),
        Rule("file", match={"path": "/file"}, bandwidth="100KB/s burst 10KB"),
    ]
)
Build = Callable[[threading.Event], Any]


def starlette(finished: threading.Event) -> Any:
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, StreamingResponse
    from starlette.routing import Route

    async def welcome(request: Any) -> PlainTextResponse:
        return PlainTextResponse("welcome")

    async def stream(request: Any) -> StreamingResponse:
        return StreamingResponse(parts(finished))

    async def fail(request: Any) -> PlainTextResponse:
        raise LookupError

    async def file(request: Any) -> PlainTextResponse:
        return PlainTextResponse(PART * 30)

    return Starlette(
        routes=[
            Route("/login", welcome, methods=["POST"]),
            Route("/search", welcome),
            Route("/stream", stream),
            Route("/fail", fail),
            Route("/file", file),
        ]
    )


def fastapi(finished: threading.Event) -> Any:
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse, Response, StreamingResponse

    app = FastAPI()

    @app.post("/login")
    async def login() -> PlainTextResponse:
        return PlainTextResponse("welcome")

    @app.api_route("/search", methods=["GET", "HEAD"])
    def search() -> PlainTextResponse:
        return PlainTextResponse("welcome")

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(parts(finished))

    @app.get("/fail")
    def fail() -> None:
        raise LookupError

    @app.get("/file")
    async def file() -> Response:
        return Response(PART * 30)

    return app


def litestar(finished: threading.Event) -> Any:
    from litestar import Litestar, MediaType, get, post, route
    from litestar.response import Stream

    @post("/login", status_code=200, media_type=MediaType.TEXT)
    async def login() -> str:
        return "welcome"

    @route("/search", http_method=["GET", "HEAD"], media_type=MediaType.TEXT)
    async def search() -> str:
        return "welcome"

    @get("/stream")
    async def stream() -> Any:
        return Stream(parts(finished))

    @get("/fail")
    async def fail() -> None:
        raise LookupError

    @get("/file", media_type=MediaType.TEXT)
    async def file() -> bytes:
        return PART * 30

    return Litestar([login, search, stream, fail, file], openapi_config=None)


def quart(finished: threading.Event) -> Any:
    from quart import Quart

    app = Quart("guarded")

    @app.post("/login")
    @app.get("/search")
    async def welcome() -> str:
        return "welcome"

    @app.get("/stream")
    async def stream() -> Any:
        return parts(finished)

    @app.get("/fail")
    async def fail() -> str:
        raise LookupError

    @app.get("/file")
    async def file() -> bytes:
        return PART * 30

    return app


async def parts(finished: threading.Event) -> AsyncIterator[bytes]:
    """More than anybody reads; says when nobody wants it any more."""
    try:
        for _ in range(100_000):
            yield PART
            await asyncio.sleep(0)
    finally:
        finished.set()


FRAMEWORKS = [starlette, fastapi, litestar, quart]


@pytest.fixture(scope="module", params=FRAMEWORKS, ids=lambda build: build.__name__)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[Site, threading.Event]]:
    build: Build = request.param
    pytest.importorskip(build.__name__)
    finished = threading.Event()
    with serving(HeadgateMiddleware(build(finished), RULES)) as site:
        yield site, finished


@pytest.fixture
def site(served: tuple[Site, threading.Event]) -> Site:
    return served[0]


def test_the_third_login_is_refused(site: Site) -> None:
    answers = [site.ask("/login", "POST", body=b"name=anna") for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.line("ratelimit") for answer in answers] == [
        '"login";r=1;t=1800', '"login";r=0;t=1800', '"login";r=0;t=1800',
    ]  # fmt: skip
    assert answers[0].body == b"welcome"
    assert answers[2].line("content-type") == "application/problem+json"
    assert answers[2].line("retry-after") == "1800"
    assert json.loads(answers[2].body)["violated-policies"] == ["login"]


def test_a_head_counts_as_a_get_and_is_refused_without_a_body(site: Site) -> None:
    answers = [site.ask("/search", "HEAD") for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.body for answer in answers] == [b"", b"", b""]
    assert int(answers[2].line("content-length")) > 100


def test_a_place_is_held_while_a_client_reads_and_free_when_it_goes_away(
    served: tuple[Site, threading.Event],
) -> None:
    site, finished = served
    with site.open("/stream") as stream:
        assert stream.read(1000) == PART
        assert site.ask("/stream").status == 429
        assert not finished.is_set()

    def free() -> bool:
        with site.open("/stream") as answer:
            return answer.status == 200

    assert finished.wait(20)
    until(free, "a free place")


def test_a_place_is_free_when_the_application_raises(site: Site) -> None:
    statuses = [site.ask("/fail").status for _ in range(3)]

    assert statuses == [500, 500, 500]


def test_a_file_arrives_whole_however_slowly(site: Site) -> None:
    answer = site.ask("/file")

    assert (answer.status, answer.body) == (200, PART * 30)


def test_who_asks_for_nothing_that_there_is_is_told_by_the_application(site: Site) -> None:
    answer: Said = site.ask("/nowhere")

    assert (answer.status, answer.all("ratelimit")) == (404, [])
