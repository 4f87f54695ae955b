"""The admin: who may ask what, and what an answer must not let happen."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headgate.rules.model.place import listening
from headgate.rules.model.rules import Rules
from headgate.telemetry.survey import blank
from headgate.workers import admin as module
from headgate.workers.admin import Admin
from headgate.workers.doors import doors

TOKEN = "a-token-that-is-long-enough"
BEARER = f"Authorization: Bearer {TOKEN}"
NEAR = "Host: localhost:9901"


class Office:
    """Notes what it is asked to do."""

    def __init__(self) -> None:
        self.healthy = True
        self.deeds: list[str] = []
        self.problems: tuple[str, ...] = ()

    async def status(self) -> dict[str, Any]:
        return {"requests": 7}

    async def reading(self) -> Any:
        return reading()

    async def order(self, order: str, **terms: Any) -> dict[str, Any]:
        self.deeds.append(f"{order} {terms['key']} at {terms['rule']}")
        return {"problem": "no rule"} if terms["rule"] == "none" else {"key": terms["key"]}

    async def attempt(self, said: Any) -> tuple[str, ...]:
        self.deeds.append(f"try {said}")
        return self.problems

    def listed(self) -> list[dict[str, Any]]:
        return [{"name": "api", "rule": {}}]

    async def reload(self) -> tuple[str, ...]:
        self.deeds.append("reload")
        return self.problems

    def drain(self) -> None:
        self.deeds.append("drain")


@pytest.mark.parametrize(
    ("line", "headers", "status", "deeds"),
    [
        ("GET /health", (NEAR,), 200, []),
        ("GET /status", (NEAR, BEARER), 200, []),
        ("GET /status", (NEAR, BEARER.replace("Bearer", "bearer")), 200, []),
        ("POST /reload", (NEAR, BEARER), 200, ["reload"]),
        ("POST /drain", (NEAR, BEARER), 202, ["drain"]),
        ("POST /drain", ("Host: 127.0.0.1", BEARER), 202, ["drain"]),
        ("POST /drain", ("Host: [::1]:9901", BEARER), 202, ["drain"]),
        # Who does not show the token, or not this one, or two.
        ("GET /status", (NEAR,), 401, []),
        ("POST /drain", (NEAR,), 401, []),
        ("POST /drain", (NEAR, BEARER[:-1]), 401, []),
        ("POST /drain", (NEAR, BEARER + "x"), 401, []),
        ("POST /drain", (NEAR, "Authorization: Bearer"), 401, []),
        ("POST /drain", (NEAR, "Authorization: Bearer \xe9"), 401, []),
        ("POST /drain", (NEAR, f"Authorization: Basic {TOKEN}"), 401, []),
        ("POST /drain", (NEAR, BEARER, BEARER), 401, []),
        ("GET /nothing", (NEAR,), 401, []),
        # Who comes by a name that somebody else may have made lead here.
        ("GET /health", (), 403, []),
        ("GET /health", ("Host: evil.example",), 403, []),
        ("POST /drain", ("Host: localhost.evil.example", BEARER), 403, []),
        ("POST /drain", ("Host: 127.0.0.1.evil.example", BEARER), 403, []),
        ("POST /drain", ("Host: evil.example#localhost", BEARER), 403, []),
        ("POST /drain", (NEAR, "Host: evil.example", BEARER), 403, []),
        # A page in a browser.
        ("POST /drain", (NEAR, BEARER, "Origin: https://evil.example"), 403, []),
        ("POST /reload", (NEAR, BEARER, "Origin: null"), 403, []),
        # What there is not.
        ("GET /nothing", (NEAR, BEARER), 404, []),
        ("GET /index.html", (NEAR, BEARER), 404, []),
        ("GET /page.css/../../ring.py", (NEAR, BEARER), 404, []),
        ("GET /drain", (NEAR, BEARER), 404, []),
        ("GET /reload", (NEAR, BEARER), 404, []),
        ("POST /health", (NEAR, BEARER), 404, []),
        ("POST /drain/", (NEAR, BEARER), 404, []),
        ("POST /drain?now", (NEAR, BEARER), 404, []),
        ("POST http://localhost/drain", (NEAR, BEARER), 404, []),
        ("PUT /drain", (NEAR, BEARER), 405, []),
        ("HEAD /health", (NEAR,), 405, []),
        ("DELETE /status", (NEAR, BEARER), 405, []),
        # What is no request.
        ("BREW /coffee", (NEAR, BEARER), 400, []),
        ("POST /drain", (NEAR, BEARER, "Content-Length: 1", "Transfer-Encoding: chunked"), 400, []),
        ("POST /drain", (NEAR, BEARER, "Upgrade: websocket", "Connection: upgrade"), 400, []),
        ("POST /drain", (NEAR, BEARER, "X: " + "x" * 9000), 431, []),
        ("POST /drain", (NEAR, BEARER, "Content-Length: 20000\r\n\r\n" + "x" * 20000), 413, []),
    ],
)
def test_only_who_may_ask_is_answered(
    line: str, headers: tuple[str, ...], status: int, deeds: list[str]
) -> None:
    office = Office()

    said = talk(office, request(line, *headers))

    assert (int(said.split()[1]), office.deeds) == (status, deeds)


def test_an_answer_is_not_kept_and_not_taken_for_a_page() -> None:
    head, _, body = talk(Office(), request("GET /status", NEAR, BEARER)).partition("\r\n\r\n")

    assert head.splitlines() == [
        "HTTP/1.1 200 OK",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
        "connection: close",
    ]
    assert json.loads(body) == {"requests": 7}


def test_who_is_not_known_is_told_how_to_be() -> None:
    said = talk(Office(), request("GET /status", NEAR))

    assert 'www-authenticate: Bearer realm="headgate"\r\n' in said


def test_where_nobody_serves_it_is_not_well() -> None:
    office = Office()
    office.healthy = False

    assert talk(office, request("GET /health", NEAR)).startswith("HTTP/1.1 503 ")


def test_what_is_wrong_with_rules_is_told() -> None:
    office = Office()
    office.problems = ("rules.yaml:3:1: no",)

    head, _, body = talk(office, request("POST /reload", NEAR, BEARER)).partition("\r\n\r\n")

    assert head.startswith("HTTP/1.1 422 ")
    assert json.loads(body) == {"status": "bad rules", "problems": ["rules.yaml:3:1: no"]}


def test_one_request_is_all_that_is_read_on_a_connection() -> None:
    office = Office()

    said = talk(office, request("POST /reload", NEAR, BEARER) * 2)

    assert (said.split()[1], office.deeds) == ("400", [])


def test_who_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)

    assert talk(Office(), b"GET /health HTTP/1.1\r\n") == ""


def test_who_comes_when_too_many_are_there_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 0)

    assert talk(Office(), request("GET /health", NEAR)) == ""


def test_what_somebody_asked_for_and_does_not_take_in_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    monkeypatch.setattr(module.shelf, "find", lambda _: module.shelf.leaf(bytes(1 << 24), "x"))

    async def ask() -> None:
        (door,) = doors([("127.0.0.1:0", listening("127.0.0.1:0"))], 1, ())
        admin = Admin(door, TOKEN, Office())
        await admin.open()
        host, _, port = door.place.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1)
        writer.write(request("GET /", NEAR))
        async with asyncio.timeout(20):
            while not admin._guests:
                await asyncio.sleep(0)
            (guest,) = admin._guests
            while admin._guests:
                await asyncio.sleep(0.01)
            assert guest.transport.get_write_buffer_size() == 0
        writer.transport.abort()
        admin.close()

    asyncio.run(ask())


def request(line: str, *headers: str, body: str = "") -> bytes:
    if body:
        return request(line, *headers, f"Content-Length: {len(body)}") + body.encode()
    return "\r\n".join([f"{line} HTTP/1.1", *headers, "", ""]).encode("latin-1")


def reading() -> Any:
    """One in which nothing has happened."""
    return blank(Rules(), "gateway", 1_000_000)


def talk(office: Office, data: bytes) -> str:
    """All that is answered to these bytes."""
    return asyncio.run(converse(office, data))


async def converse(office: Office, data: bytes) -> str:
    (door,) = doors([("127.0.0.1:0", listening("127.0.0.1:0"))], 1, ())
    admin = Admin(door, TOKEN, office)
    await admin.open()
    host, _, port = door.place.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(data)
        said = b""
        while part := await reader.read(65_536):
            said += part
    except ConnectionResetError:
        # It hung up before it had read all of it.
        pass
    finally:
        writer.close()
        admin.close()
    return said.decode("latin-1")
