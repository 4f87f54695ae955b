"""Servers that keep a book of their visits write down all of them, in full and in order."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.asgi import Uvicorn
from tests.servers.binaries import Missing
from tests.servers.fixtures import running
from tests.servers.nginx import Nginx
from tests.servers.visits import BROKEN, Visit

HEAD = b"POST /a%20b?c HTTP/1.1\r\nHost: a\r\nMarker: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
HEADERS = {("host", "a"), ("marker", "7"), ("transfer-encoding", "chunked")}
MAKERS: dict[str, Any] = {
    "uvicorn-h11": lambda: Uvicorn("h11"),
    "uvicorn-httptools": lambda: Uvicorn("httptools"),
    "nginx": Nginx,
}


@pytest.fixture(scope="module", params=MAKERS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield from running(MAKERS[request.param])


def ask(server: Any, data: bytes) -> bytes:
    """All that is said until the other side hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), 5.0) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65_536), b""))


def test_a_visit_is_noted_with_its_headers_and_its_body(server: Any) -> None:
    body = bytes(range(256))

    ask(server, HEAD + b"100\r\n" + body + b"\r\n0\r\n\r\n")

    (visit,) = server.visits()
    assert visit._replace(headers=()) == Visit("POST", "/a%20b?c", (), body)
    assert set(visit.headers) == HEADERS


def test_visits_are_noted_in_order_and_once(server: Any) -> None:
    for number in range(20):
        ask(server, b"GET /%d HTTP/1.0\r\n\r\n" % number)

    assert [visit.target for visit in server.visits()] == [f"/{number}" for number in range(20)]
    assert server.visits() == []


def test_a_visit_that_ends_early_is_not_whole(server: Any) -> None:
    ask(server, HEAD + b"5\r\nhel")

    (visit,) = server.visits()
    assert (visit.method, visit.target, visit.whole) == ("POST", "/a%20b?c", False)


def test_what_is_no_request_is_a_visit_too(server: Any) -> None:
    ask(server, b"rubbish\r\n\r\n")

    assert [visit.whole for visit in server.visits()] == [BROKEN.whole]


@pytest.mark.parametrize("server", ["uvicorn-h11", "uvicorn-httptools"], indirect=True)
def test_uvicorn_tells_what_it_saw(server: Any) -> None:
    request = b"PUT /a HTTP/1.0\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc"

    answer = ask(server, request)

    assert server.raw == request
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "method": "PUT",
        "target": "/a",
        "headers": [["x-a", "b"], ["content-length", "3"]],
        "length": 3,
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }
    server.visits()
    assert server.raw == b""


def test_a_machine_without_nginx_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    with pytest.raises(Missing) as missing:
        Nginx()
    assert str(missing.value) == "no nginx here; apt-get install nginx-light, or put nginx on PATH"
