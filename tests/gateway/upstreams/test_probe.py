"""Probe: a server that answers as it should is well; whatever else happens is said."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headgate.gateway.upstreams.probe import Probe
from headgate.rules.model.place import Place
from headgate.rules.model.upstream import Health

httptools = pytest.importorskip("httptools")
trustme = pytest.importorskip("trustme")

AUTHORITY = trustme.CA()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Stage:
    """A server that says what it is told to, and remembers what it was asked."""

    def __init__(self, *parts: bytes, lasting: bool = False) -> None:
        self.parts = parts
        self.asked = b""
        self.heard, self.left = asyncio.Event(), asyncio.Event()
        # Whether it waits for the other side to hang up.
        self.lasting = lasting

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One question, and what there is to say."""
        try:
            self.asked = await reader.readuntil(b"\r\n\r\n")
            self.heard.set()
            for part in self.parts:
                writer.write(part)
                await writer.drain()
            if self.lasting:
                assert await reader.read() == b""
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            self.left.set()

    @asynccontextmanager
    async def open(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Place]:
        """Listens on a port that is free."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=tls)
        async with server:
            port = server.sockets[0].getsockname()[1]
            yield Place("https" if tls else "http", "127.0.0.1", port)


def asked(stage: Stage, **terms: Any) -> str:
    async def run() -> str:
        async with stage.open() as place:
            return await Probe(Health("/healthz", **terms)).ask(place)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([OK], ""),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], ""),
        ([b"HTTP/1.0 200 OK\r\n\r\n"], ""),
        ([b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", OK], ""),
        ([b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK], ""),
        ([b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"], "it answers 503"),
        ([b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"], "it answers 301"),
        (
            [b"HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n"],
            "it answers 101",
        ),
    ],
)
def test_the_status_says_whether_it_is_well(parts: list[bytes], said: str) -> None:
    assert asked(Stage(*parts)) == said


@pytest.mark.parametrize(
    ("status", "said"), [(["2xx", 401], ""), (401, ""), ([200, 404], "it answers 401")]
)
def test_which_statuses_are_good_is_told(status: Any, said: str) -> None:
    assert asked(Stage(b"HTTP/1.1 401 Unauthorized\r\n\r\n"), status=status) == said


def test_an_answer_may_come_byte_by_byte() -> None:
    assert asked(Stage(*(bytes([byte]) for byte in OK))) == ""


@pytest.mark.parametrize(
    ("parts", "kind", "said"),
    [
        ([], ConnectionError, "it hangs up"),
        ([b"HTTP/1.1 200 OK\r\nContent-"], ConnectionError, "it hangs up"),
        ([b"HTTP/1.1 103 Early Hints\r\n\r\n"], ConnectionError, "it hangs up"),
        ([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000], ConnectionError, "it says too much"),
        ([b"SSH-2.0-OpenSSH\r\n"], httptools.HttpParserError, None),
    ],
)
def test_what_is_no_answer_is_raised(
    parts: list[bytes], kind: type[Exception], said: str | None
) -> None:
    with pytest.raises(kind) as caught:
        asked(Stage(*parts))

    assert said is None or str(caught.value) == said


def test_it_is_asked_like_this() -> None:
    stage = Stage(OK)

    async def run() -> int:
        async with stage.open() as place:
            await Probe(Health("/healthz?deep=1")).ask(place)
            return place.port

    port = asyncio.run(run())

    assert stage.asked.decode().split("\r\n") == [
        "GET /healthz?deep=1 HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "User-Agent: headgate",
        "Accept: */*",
        "Connection: close",
        "",
        "",
    ]


def test_it_hangs_up_without_waiting_for_a_body() -> None:
    stage = Stage(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", lasting=True)

    async def run() -> str:
        async with stage.open() as place:
            said = await Probe(Health("/")).ask(place)
            await stage.left.wait()
            return said

    assert asyncio.run(run()) == ""


def test_it_hangs_up_when_nobody_wants_to_know_any_more() -> None:
    stage = Stage(lasting=True)

    async def run() -> None:
        async with stage.open() as place:
            asking = asyncio.create_task(Probe(Health("/")).ask(place))
            await stage.heard.wait()
            asking.cancel()
            await asyncio.wait([asking])
            assert asking.cancelled()
            await stage.left.wait()

    asyncio.run(run())


def test_where_nobody_listens_that_is_raised() -> None:
    async def run() -> None:
        async with Stage(OK).open() as place:
            pass
        await Probe(Health("/")).ask(place)

    with pytest.raises(ConnectionRefusedError):
        asyncio.run(run())


def test_a_socket_in_the_file_system_is_asked_too(tmp_path: Path) -> None:
    stage = Stage(OK)
    path = str(tmp_path / "app.sock")

    async def run() -> str:
        async with await asyncio.start_unix_server(stage.serve, path):
            return await Probe(Health("/healthz")).ask(Place("unix", path=path))

    assert asyncio.run(run()) == ""
    assert b"\r\nHost: localhost\r\n" in stage.asked


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


def secure(tls: ssl.SSLContext | None, name: str) -> str:
    """What a probe hears from a server that has a certificate for `shop.example`."""
    identity = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("shop.example").configure_cert(identity)

    async def run() -> str:
        async with Stage(OK).open(identity) as place:
            return await Probe(Health("/"), tls, name).ask(place)

    return asyncio.run(run())


def test_an_https_server_is_asked_under_the_name_of_its_certificate() -> None:
    assert secure(trusting(), "shop.example") == ""


@pytest.mark.parametrize(
    ("tls", "name", "kind"),
    [
        (trusting(), "", ssl.SSLCertVerificationError),
        (trusting(), "other.example", ssl.SSLCertVerificationError),
        (ssl.create_default_context(), "shop.example", ssl.SSLCertVerificationError),
        (None, "shop.example", ValueError),
    ],
)
def test_an_https_server_that_is_not_who_it_should_be_is_not_asked(
    tls: ssl.SSLContext | None, name: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        secure(tls, name)
