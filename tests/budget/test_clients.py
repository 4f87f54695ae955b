"""Clients give calls to our services what they may spend, and nobody else anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from urllib3.util.retry import Retry

from headgate import ManualClock, Purse
from headgate.adapters.budget.aiohttp import middleware
from headgate.adapters.budget.asgi import BudgetMiddleware
from headgate.adapters.budget.fare import Fare
from headgate.adapters.budget.httpx import Transport
from headgate.adapters.budget.requests import Adapter
from headgate.adapters.outgoing.httpx import Transport as Paced
from headgate.adapters.outgoing.pace import Pace
from tests.adapters.asgi.serving import serving
from tests.budget.kit import chain
from tests.gateway.answering import Answering
from tests.servers.ports import Port

OURS = Fare("127.0.0.1", "*.internal")


def by_httpx(url: str, fare: Fare) -> int:
    with httpx.Client(
        transport=Transport(httpx.HTTPTransport(), fare), follow_redirects=True
    ) as client:
        return client.get(url).status_code


def by_httpx_awaited(url: str, fare: Fare) -> int:
    async def ask() -> int:
        transport = Transport(httpx.AsyncHTTPTransport(), fare)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            return (await client.get(url)).status_code

    return asyncio.run(ask())


def by_requests(url: str, fare: Fare) -> int:
    with requests.Session() as session:
        session.mount("http://", Adapter(fare))
        return session.get(url, timeout=5).status_code


def by_aiohttp(url: str, fare: Fare) -> int:
    async def ask() -> int:
        async with (
            aiohttp.ClientSession(middlewares=[middleware(fare)]) as session,
            session.get(url) as answer,
        ):
            return answer.status

    return asyncio.run(ask())


ALL = [by_httpx, by_httpx_awaited, by_requests, by_aiohttp]


class Service:
    """A service of ours at a port, which costs 4; it sends some elsewhere, and remembers."""

    def __init__(self) -> None:
        self.clock = ManualClock(1000.0)
        self.shop, price = chain(self.clock, 2)
        self.price = price
        self.brought: list[tuple[str, bool]] = []
        self.app = BudgetMiddleware(self.answer, price, price=4)
        self.port = 0

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            names = dict(scope["headers"])
            self.brought.append((scope["path"], b"x-headgate-budget" in names))
        await self.app(scope, receive, send)

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        to = {"/away": self.url("/there", "localhost"), "/on": self.url("/next")}
        place = to.get(scope.get("path", ""), "")
        headers = [(b"location", place.encode())] if place else []
        headers.append((b"content-length", b"0"))
        status = 307 if place else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with serving(service, lifespan="off") as site:
        service.port = site.port
        yield service


@pytest.fixture
def purse(service: Service) -> Purse:
    opened: Purse = service.shop.open(account="ann")
    return opened


@pytest.mark.parametrize("ask", ALL)
def test_a_call_is_given_all_and_brings_back_the_rest(
    service: Service, purse: Purse, ask: Any
) -> None:
    with purse:
        statuses = [ask(service.url("/here"), OURS) for _ in range(2)]
        left = purse.left

    assert (statuses, left) == ([200, 200], 12)
    assert service.price.counts[:2] == (0, 8)


@pytest.mark.parametrize("ask", ALL)
def test_whoever_is_not_ours_is_sent_nothing_even_when_we_are_sent_there(
    service: Service, purse: Purse, ask: Any
) -> None:
    with purse:
        ask(service.url("/away"), OURS)
        left = purse.left

    assert service.brought == [("/away", True), ("/there", False)]
    assert left == 16


@pytest.mark.parametrize("ask", ALL)
def test_each_call_of_several_has_its_own(service: Service, purse: Purse, ask: Any) -> None:
    with purse:
        ask(service.url("/on"), OURS)
        left = purse.left

    assert service.brought == [("/on", True), ("/next", True)]
    assert (left, service.price.counts.replayed) == (12, 0)


@pytest.mark.parametrize("ask", ALL)
def test_a_call_for_nobody_goes_as_it_is(service: Service, ask: Any) -> None:
    ask(service.url("/here"), OURS)

    assert service.brought == [("/here", False)]


@pytest.mark.parametrize("ask", ALL)
def test_what_nobody_was_sent_is_not_spent(purse: Purse, ask: Any) -> None:
    port = Port()
    with purse, pytest.raises(Exception, match=r".+"):
        ask(f"http://127.0.0.1:{port.number}/", OURS)
    port.close()

    assert purse.budget.counts[:3] == (20, 0, 20)


def test_calls_at_once_have_a_part_each(service: Service, purse: Purse) -> None:
    async def ask(client: httpx.AsyncClient, part: Purse) -> None:
        with part:
            await client.get(service.url("/here"))

    async def play() -> None:
        transport = Transport(httpx.AsyncHTTPTransport(), OURS)
        async with httpx.AsyncClient(transport=transport) as client:
            await asyncio.gather(*[ask(client, part) for part in purse.split(4)])

    asyncio.run(play())

    assert purse.left == 4
    assert service.price.counts[:3] == (0, 16, 0)


def test_a_share_is_kept_for_others(service: Service, purse: Purse) -> None:
    loan = None
    with purse:
        loan = Fare("127.0.0.1", share=0.5).lend("127.0.0.1")

    assert loan is not None
    assert loan.part == 10


def test_a_request_that_is_sent_again_is_given_its_own_each_time(
    service: Service, purse: Purse
) -> None:
    turned: list[int] = []

    class Once(httpx.BaseTransport):
        """Refuses the first, as a service does that is asked too much."""

        def __init__(self) -> None:
            self.inner = httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = self.inner.handle_request(request)
            if not turned:
                turned.append(answer.status_code)
                back = {"x-headgate-budget": answer.headers["x-headgate-budget"]}
                answer.close()
                return httpx.Response(429, headers={"retry-after": "1", **back})
            return answer

        def close(self) -> None:
            self.inner.close()

    pace = Pace(clock=service.clock)
    with purse, httpx.Client(transport=Paced(Transport(Once(), OURS), pace)) as client:
        answer = client.get(service.url("/here"))
        left = purse.left

    assert (answer.status_code, left, service.price.counts.replayed) == (200, 12, 0)


BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("said", [BUSY, b""])
def test_what_was_sent_is_not_sent_again_with_what_it_had(purse: Purse, said: bytes) -> None:
    def reply(head: bytes) -> bytes:
        # Whoever tries once more finds nobody.
        server.server.close()
        return said

    retry = Retry(2, status_forcelist=[503], raise_on_status=False)
    with purse, Answering(reply) as server, requests.Session() as session:
        session.mount("http://", Adapter(OURS, max_retries=retry))
        with suppress(requests.ConnectionError):
            assert session.get(server.url, timeout=5).status_code == 503
        # It may all be spent.
        left = purse.left

    assert (len(server.heads), left) == (1, 0)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True), ("price.internal", True), ("PRICE.Internal", True),
        ("internal", False), ("internal.evil.example", False), ("127.0.0.1.evil.example", False),
        ("127x0.0.1", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_hosts_are_told_apart_as_a_whole(purse: Purse, host: str | None, ours: bool) -> None:
    with purse:
        assert (OURS.lend(host) is not None) is ours


STRANGE: Any = "x"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Fare, 'Fare: hosts are those of your services, such as "*.internal"'),
        (lambda: Fare("a", share=2.0), "Fare: share is from 0 to 1, not 2.0"),
        (lambda: middleware(STRANGE), 'middleware: fare is a Fare such as Fare("*.internal"), not'),
        (lambda: Adapter(STRANGE), "Adapter: fare is a Fare such as Fare(\"*.internal\"), not 'x'"),
        (lambda: Transport(5, OURS), "Transport: wrapped is a transport such as httpx.HTTPTranspo"),
        (
            lambda: Transport(httpx.HTTPTransport(), STRANGE),
            'Transport: fare is a Fare such as Fare("*.internal"), not',
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()

    assert str(caught.value).startswith(message)


def test_a_fare_says_for_whom_it_is() -> None:
    assert repr(OURS) == "Fare('127.0.0.1', '*.internal')"
