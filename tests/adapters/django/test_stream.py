"""What a Django project streams: evenly where it must be, and held until it ends."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any
from wsgiref.util import FileWrapper

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, AsyncRequestFactory, Client
from django.urls import path

from headgate import ManualClock
from headgate.adapters.django.decorator import limit
from headgate.adapters.django.desk import desk
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.django.site import MIDDLEWARE, ask, project, statuses
from tests.adapters.serving import Guest, served
from tests.adapters.wire import environment, scope
from tests.servers.waiting import until

ALONE = Rules([Rule("alone", key="header.x-user", concurrent=1)])
SLOW = Rules([Rule("slow", bandwidth="10KB/s")])
COUNTED = Rules([Rule("sent", limit="30000/min", by="fixed_window", cost={"by": "response.body"})])
WAYS = pytest.mark.parametrize("way", ["wsgi", "asgi"])
PEOPLE = "tests.adapters.django.people."
LARGE = b"x" * 30_000


def whole(request: Any) -> HttpResponse:
    response = HttpResponse(LARGE, status=201, reason="Made", headers={"x-own": "yes"})
    response.set_cookie("a", "1")
    return response


async def awhole(request: Any) -> HttpResponse:
    return whole(request)


def parts(request: Any) -> StreamingHttpResponse:
    return StreamingHttpResponse(iter([LARGE[:20_000], b"", LARGE[20_000:]]), status=201)


async def aparts(request: Any) -> StreamingHttpResponse:
    async def stream() -> AsyncIterator[bytes]:
        yield LARGE[:20_000]
        yield LARGE[20_000:]

    return StreamingHttpResponse(stream(), status=201)


def file(request: Any) -> FileResponse:
    return FileResponse(io.BytesIO(LARGE), filename="film.txt", status=201)


VIEWS = {"whole": whole, "awaited": awhole, "parts": parts, "file": file}


@WAYS
@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("others", [(), (PEOPLE + "sync_only",)], ids=["alone", "with others"])
def test_an_answer_flows_evenly(
    way: str, kind: str, others: tuple[str, ...], clock: ManualClock
) -> None:
    with project(path("", VIEWS[kind]), middleware=(*others, MIDDLEWARE), rules=SLOW, clock=clock):
        answer = ask(way, "/")

    assert (answer.status, answer.body, clock.now() / 1e6) == (201, LARGE, 2.0)


def test_an_answer_that_is_awaited_flows_evenly(clock: ManualClock) -> None:
    with project(path("", aparts), rules=SLOW, clock=clock):
        answer = ask("asgi", "/")

    assert (answer.status, answer.body, clock.now() / 1e6) == (201, LARGE, 2.0)


@WAYS
@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_with_a_limit_flows_evenly(way: str, kind: str, clock: ManualClock) -> None:
    view = limit(bandwidth="10KB/s")(VIEWS[kind])
    with project(path("", view), middleware=(), clock=clock):
        answer = ask(way, "/")

    assert (answer.status, answer.body, clock.now() / 1e6) == (201, LARGE, 2.0)


@WAYS
def test_what_becomes_a_stream_stays_the_answer_it_was(way: str, clock: ManualClock) -> None:
    with project(path("", whole), rules=SLOW, clock=clock):
        answer = ask(way, "/")

    assert answer.headers == {
        "content-type": "text/html; charset=utf-8",
        "content-length": "30000",
        "x-own": "yes",
        "set-cookie": answer.headers["set-cookie"],
    }
    assert answer.headers["set-cookie"].strip().startswith("a=1")


@WAYS
def test_a_small_answer_stays_whole_and_is_paid_for(way: str, clock: ManualClock) -> None:
    def small(request: Any) -> HttpResponse:
        return HttpResponse(b"x" * 500)

    with project(path("", small), rules=SLOW, clock=clock):
        bodies = [ask(way, "/").body for _ in range(21)]

    assert (bodies, clock.now() / 1e6) == ([b"x" * 500] * 21, 0.05)


@WAYS
def test_the_body_that_a_head_does_not_get_is_not_waited_for(way: str, clock: ManualClock) -> None:
    with project(path("", whole), rules=SLOW, clock=clock):
        ask(way, "/", "HEAD")

    assert clock.now() == 0


@WAYS
@pytest.mark.parametrize("kind", VIEWS)
def test_the_bytes_of_an_answer_are_counted(way: str, kind: str, clock: ManualClock) -> None:
    with project(path("", VIEWS[kind]), rules=COUNTED, clock=clock):
        assert statuses(way, "/", 2) == [201, 429]


def free(kind: Any) -> bool:
    """Whether there is a place for one more."""
    keeper = desk(kind).keeper
    request = Request("GET", "/", {"x-user": "ann"})
    if kind is AsyncGatekeeper:

        async def look() -> bool:
            entry = await keeper.enter(request)
            await keeper.leave(entry)
            return bool(entry)

        return asyncio.run(look())
    entry = keeper.enter(request)
    keeper.leave(entry)
    return bool(entry)


def begun(status: str, headers: Any, exc_info: Any = None) -> None:
    """A server that has begun an answer."""


@pytest.mark.parametrize("kind", ["parts", "file"])
@pytest.mark.parametrize("end", ["read", "closed"])
def test_a_place_is_held_until_a_stream_ends(kind: str, end: str) -> None:
    with project(path("", VIEWS[kind]), rules=ALONE):
        body: Any = WSGIHandler()(environment("GET", "/", {"x-user": "ann"}), begun)
        held = not free(Gatekeeper)
        if end == "read":
            assert b"".join(body) == LARGE
        body.close()

        assert (held, free(Gatekeeper)) == (True, True)


def test_the_server_sends_a_file_by_itself() -> None:
    environ = environment("GET", "/", {"x-user": "ann"}) | {"wsgi.file_wrapper": FileWrapper}
    with project(path("", file), rules=ALONE):
        body: Any = WSGIHandler()(environ, begun)
        held = not free(Gatekeeper)
        body.close()

        assert (type(body), held, free(Gatekeeper)) == (FileWrapper, True, True)


def test_a_file_whose_bytes_count_is_sent_in_pieces(clock: ManualClock) -> None:
    environ = environment("GET", "/", {}) | {"wsgi.file_wrapper": FileWrapper}
    with project(path("", file), rules=SLOW, clock=clock):
        body: Any = WSGIHandler()(environ, begun)
        read = b"".join(body)
        body.close()

    assert (read, clock.now() / 1e6) == (LARGE, 2.0)


@pytest.mark.parametrize("kind", ["parts", "file", "whole"])
def test_the_clients_of_tests_end_a_stream_too(kind: str) -> None:
    with project(path("", VIEWS[kind]), rules=ALONE):
        for _ in range(2):
            response = Client(headers={"x-user": "ann"}).get("/")
            assert response.getvalue() == LARGE


def test_a_stream_that_fails_gives_its_place_back() -> None:
    def failing(request: Any) -> StreamingHttpResponse:
        def stream() -> Iterator[bytes]:
            yield b"x"
            raise KeyError("x")

        return StreamingHttpResponse(stream())

    with project(path("", failing), rules=ALONE):
        with pytest.raises(KeyError):
            ask("wsgi", "/", x_user="ann")
        with pytest.raises(KeyError):
            asyncio.run(read(1))
        assert (free(Gatekeeper), free(AsyncGatekeeper)) == (True, True)


async def read(times: int) -> list[bytes]:
    """What a client of tests reads, in the event loop."""
    found = []
    for _ in range(times):
        response: Any = await AsyncClient().get("/", headers={"x-user": "ann"})
        found.append(b"".join([part async for part in response.streaming_content]))
    return found


class Listener:
    """A client under ASGI: it hears one part after another, and goes when it likes."""

    def __init__(self, **headers: str) -> None:
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        self._scope = scope("GET", "/", said)
        self._asked: asyncio.Queue[Any] = asyncio.Queue()
        self._asked.put_nowait({"type": "http.request"})
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._task = asyncio.create_task(
            ASGIHandler()(self._scope, self._asked.get, self._heard.put)
        )

    async def hear(self) -> Any:
        """The next message."""
        return await asyncio.wait_for(self._heard.get(), 10)

    async def go(self) -> None:
        """Hang up, and wait until that is noticed."""
        self._asked.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(self._task, 10)

    async def stay(self) -> None:
        """Wait for the end."""
        await asyncio.wait_for(self._task, 10)


def endless(gate: asyncio.Event) -> Any:
    """A view that sends a part, and another one when the gate is open."""

    async def view(request: Any) -> StreamingHttpResponse:
        async def stream() -> AsyncIterator[bytes]:
            yield b"one"
            await gate.wait()
            yield b"two"

        return StreamingHttpResponse(stream())

    return view


async def afree(user: str = "ann") -> bool:
    """Whether there is a place for one more, in the loop at hand."""
    keeper = desk(AsyncGatekeeper).keeper
    entry = await keeper.enter(Request("GET", "/", {"x-user": user}))
    await keeper.leave(entry)
    return bool(entry)


def test_under_asgi_a_place_is_held_until_the_stream_ends() -> None:
    async def scene() -> list[Any]:
        gate = asyncio.Event()
        with project(path("", endless(gate)), rules=ALONE):
            first = Listener(x_user="ann")
            said = [(await first.hear())["status"], (await first.hear())["body"]]
            second = Listener(x_user="ann")
            said.append((await second.hear())["status"])
            await second.stay()
            gate.set()
            said.append((await first.hear())["body"])
            await first.stay()
            return [*said, await afree()]

    assert asyncio.run(scene()) == [200, b"one", 429, b"two", True]


@pytest.mark.parametrize("rules", [ALONE, Rules([*ALONE.rules, *SLOW.rules])], ids=["held", "slow"])
def test_under_asgi_a_place_is_given_back_when_the_client_goes_away(
    rules: Rules, clock: ManualClock
) -> None:
    async def scene() -> list[bool]:
        gate = asyncio.Event()
        with project(path("", endless(gate)), rules=rules, clock=clock):
            first = Listener(x_user="ann")
            await first.hear()
            await first.hear()
            held = not await afree()
            await first.go()
            return [held, await afree()]

    assert asyncio.run(scene()) == [True, True]


def test_under_asgi_a_place_is_given_back_when_the_client_goes_before_the_answer() -> None:
    async def scene() -> list[bool]:
        started = asyncio.Event()

        async def view(request: Any) -> HttpResponse:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        with project(path("", view), rules=ALONE):
            first = Listener(x_user="ann")
            await asyncio.wait_for(started.wait(), 10)
            held = not await afree()
            await first.go()
            return [held, await afree()]

    assert asyncio.run(scene()) == [True, True]


def test_under_asgi_a_place_is_given_back_by_a_server_that_does_not_send() -> None:
    async def scene() -> list[bool]:
        stuck = asyncio.Event()

        async def send(message: Any) -> None:
            if message.get("body"):
                stuck.set()
                await asyncio.Event().wait()

        with project(path("", endless(asyncio.Event())), rules=ALONE):
            asked: asyncio.Queue[Any] = asyncio.Queue()
            asked.put_nowait({"type": "http.request"})
            said = scope("GET", "/", {"x-user": "ann"})
            task = asyncio.create_task(ASGIHandler()(said, asked.get, send))
            await asyncio.wait_for(stuck.wait(), 10)
            held = not await afree()
            # The client goes while a part is on its way: nobody is in the stream then.
            asked.put_nowait({"type": "http.disconnect"})
            await asyncio.wait_for(task, 10)
            return [held, await afree()]

    assert asyncio.run(scene()) == [True, True]


def test_a_view_that_is_not_awaited_is_streamed_under_asgi_all_the_same() -> None:
    made: list[int] = []

    def view(request: Any) -> StreamingHttpResponse:
        def stream() -> Iterator[bytes]:
            for number in range(3):
                made.append(number)
                yield b"%d" % number

        return StreamingHttpResponse(stream())

    heard: list[Any] = []

    async def scene() -> None:
        async def send(message: Any) -> None:
            if message.get("body"):
                heard.append((message["body"], [*made]))

        asked: asyncio.Queue[Any] = asyncio.Queue()
        asked.put_nowait({"type": "http.request"})
        await ASGIHandler()(scope("GET", "/", {"x-user": "ann"}), asked.get, send)

    with project(path("", view), rules=ALONE):
        asyncio.run(scene())

    assert heard == [(b"0", [0]), (b"1", [0, 1]), (b"2", [0, 1, 2])]


def test_the_awaited_clients_of_tests_end_a_stream_too() -> None:
    with project(path("", aparts), rules=ALONE):
        assert asyncio.run(read(2)) == [LARGE, LARGE]


def test_what_is_read_to_its_end_is_left_before_it_is_closed() -> None:
    view = limit(concurrent=1)(aparts)

    async def scene() -> list[int]:
        found = []
        for _ in range(2):
            response: Any = await view(AsyncRequestFactory().get("/"))
            found.append(response.status_code)
            kept.append((response, [part async for part in response.streaming_content]))
        return found

    kept: list[Any] = []
    with project(middleware=()):
        assert asyncio.run(scene()) == [201, 201]


def test_the_event_loop_is_not_held_up_while_one_waits() -> None:
    rules = Rules([Rule("once", limit="1/min", over="wait 1min", match={"path": "/"})])

    async def scene() -> list[int]:
        clock = Hours()
        with project(path("", awhole), path("free", awhole), rules=rules, clock=clock):
            await status("/")
            waiting = asyncio.create_task(status("/"))
            await asyncio.wait_for(clock.asked.wait(), 10)
            free = await status("/free")
            clock.over.set()
            return [free, await waiting]

    async def status(target: str) -> int:
        return int((await AsyncClient().get(target)).status_code)

    assert asyncio.run(scene()) == [201, 201]


class Hours(ManualClock):
    """A clock under which a wait takes until somebody says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.over = asyncio.Event()

    async def asleep(self, seconds: float) -> None:
        self.asked.set()
        await self.over.wait()


def test_under_a_real_server_a_place_is_held_and_given_back() -> None:
    gates = [threading.Event() for _ in range(100)]

    def fountain(request: Any) -> StreamingHttpResponse:
        def stream() -> Iterator[bytes]:
            yield LARGE
            for gate in gates:
                assert gate.wait(20)
                yield LARGE

        return StreamingHttpResponse(stream())

    with project(path("", fountain), rules=ALONE), served(WSGIHandler()) as port:
        first = Guest(port, "/", x_user="ann")
        read = first.read(len(LARGE))
        first.go()
        second = Guest(port, "/", x_user="ann")
        second.go()
        for gate in gates:
            gate.set()
        until(lambda: free(Gatekeeper), "the place to be free")

    assert (first.status, read, second.status) == (200, LARGE, 429)
