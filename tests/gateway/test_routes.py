"""Where requests go: which server, under which name, with which path."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from headgate.rules.model.rules import Rules
from tests.gateway.answering import Answering
from tests.gateway.asking import asked, reply
from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, answered, plan


def get(target: str, *lines: str, method: str = "GET", host: str = "a.test") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()


def named(head: bytes) -> tuple[str, str]:
    """The target and the host that a server was asked for."""
    first, second = head.decode().split("\r\n")[:2]
    return first.split(" ")[1], second.removeprefix("host: ")


@pytest.mark.parametrize(
    ("rewrite", "target", "expected"),
    [
        (None, "/api/x?y=/api", "/api/x?y=/api"),
        ({"strip": "/api"}, "/api/x", "/x"),
        ({"strip": "/api"}, "/api", "/"),
        ({"strip": "/api"}, "/api/", "/"),
        ({"strip": "/api"}, "/api?y=1", "/?y=1"),
        ({"strip": "/api"}, "/api/x?y=/api", "/x?y=/api"),
        ({"strip": "/api"}, "/api/api/x", "/api/x"),
        ({"strip": "/api"}, "/apiary", "/apiary"),
        ({"strip": "/api"}, "/b/api", "/b/api"),
        ({"strip": "/api/v1"}, "/api/v1/x", "/x"),
        ({"strip": "/api/v1"}, "/api/v2/x", "/api/v2/x"),
        ({"add": "/v2"}, "/x?y=1", "/v2/x?y=1"),
        ({"add": "/v2"}, "/", "/v2/"),
        ({"strip": "/api", "add": "/v2"}, "/api/x", "/v2/x"),
        ({"strip": "/api", "add": "/v2"}, "/api", "/v2/"),
        ({"strip": "/api", "add": "/v2"}, "/x", "/v2/x"),
        ({"strip": "/api"}, "/api/%41/%C3%BC", "/%41/%C3%BC"),
        ({"strip": "/api"}, "/api/%41;b=c/d", "/%41;b=c/d"),
    ],
)
def test_a_path_is_rewritten_as_the_route_says(
    rewrite: Any, target: str, expected: str, service: Answering
) -> None:
    route = {} if rewrite is None else {"path": rewrite}
    with Stage(plan(service.url, route=route)) as stage, stage.talk() as talk:
        assert reply(talk, get(target)).status == 200
        assert named(service.heads[-1])[0] == expected


def test_a_request_for_everything_is_not_rewritten(service: Answering) -> None:
    route = {"path": {"strip": "/api", "add": "/v2"}}
    with Stage(plan(service.url, route=route)) as stage, stage.talk() as talk:
        assert reply(talk, get("*", method="OPTIONS")).status == 200
        assert named(service.heads[-1])[0] == "*"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("keep", "a.test:81"),
        ("upstream", "127.0.0.1:{port}"),
        ("b.test", "b.test"),
        ("b.test:8080", "b.test:8080"),
    ],
)
def test_a_server_is_told_the_host_that_the_route_says(
    host: str, expected: str, service: Answering
) -> None:
    with Stage(plan(service.url, route={"host": host})) as stage, stage.talk() as talk:
        assert reply(talk, get("/", host="a.test:81")).status == 200
        head = service.heads[-1]

        assert named(head)[1] == expected.format(port=service.port)
        # Whom the client asked for is told all the same.
        assert b"\r\nx-forwarded-host: a.test:81\r\n" in head


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (get("/v1/x"), "one"),
        (get("/v1"), "one"),
        (get("/v1/x", method="DELETE"), "two"),
        (get("/b", host="B.test:8080"), "two"),
        (get("/b", "X-Kind: new"), "two"),
        (get("/b", "X-Kind: old"), None),
        (get("/"), None),
        (get("/v%31/x"), "one"),
        (get("//v1//x"), "one"),
    ],
)
def test_the_first_route_that_fits_is_taken(request_: bytes, expected: str | None) -> None:
    with Answering() as one, Answering() as two:
        routes = [
            {"match": {"path": "/v1/**", "method": "GET"}, "upstream": one.url},
            {"match": {"path": "/v1/**"}, "upstream": two.url},
            {"match": {"host": "b.test"}, "upstream": two.url},
            {"match": {"header.x-kind": "new"}, "upstream": two.url},
        ]
        said = {"version": 1, "gateway": {"listen": "127.0.0.1:0", "routes": routes}}
        with Stage(Rules.read(json.dumps(said))) as stage, stage.talk() as talk:
            answer = reply(talk, request_)
            seen = [name for name, server in (("one", one), ("two", two)) if server.heads]

    assert answer.status == (404 if expected is None else 200)
    assert seen == ([] if expected is None else [expected])


def test_where_no_route_leads_is_a_404_and_the_client_goes_on(service: Answering) -> None:
    route = {"match": {"path": "/here"}}
    with Stage(plan(service.url, route=route)) as stage, stage.talk() as talk:
        there = reply(talk, get("/there"))
        assert (there.status, there.all("connection")) == (404, [])
        assert json.loads(there.body) == {
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "detail": "No route leads there.",
        }
        assert reply(talk, get("/here")).status == 200
        stage.rest(clients=1)


def test_whoever_has_least_to_do_is_asked() -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(Backing()) for _ in range(3)]
        stage = stack.enter_context(Stage(plan(*(one.url for one in servers))))
        callers: list[Caller] = []
        # In turn, as long as all have as little.
        for server in servers:
            stack.enter_context(stage.talk()).send(get("/"))
            callers.append(server.take())
        callers[1].head()
        callers[1].say(FINE)
        stage.rest(clients=3, busy=2, places=2)
        for _ in range(2):
            stack.enter_context(stage.talk()).send(get("/again"))
            stage.turn()
        callers[1].head()
        # The other went to who was next.
        servers[2].take()
        assert [server.asked() for server in servers] == [False, False, False]


def test_a_key_always_goes_to_the_same_server() -> None:
    with ExitStack() as stack:
        services = [stack.enter_context(Answering()) for _ in range(3)]
        urls = [one.url for one in services]
        upstream = {"balance": "hash", "key": "header.x-user", "breaker": False}
        stage = stack.enter_context(Stage(plan(*urls, upstream=upstream)))
        talk = stack.enter_context(stage.talk())
        homes: dict[str, int] = {}
        for _ in range(2):
            for number in range(30):
                user = f"user-{number}"
                before = [len(one.heads) for one in services]
                assert reply(talk, get("/", f"X-User: {user}")).status == 200
                after = [len(one.heads) for one in services]
                home = [old == new for old, new in zip(before, after, strict=True)].index(False)
                assert homes.setdefault(user, home) == home

        assert set(homes.values()) == {0, 1, 2}


def test_a_key_whose_server_is_gone_goes_to_another() -> None:
    with Answering() as service, Backing() as gone:
        gone.close()
        upstream = {"balance": "hash", "key": "header.x-user", "breaker": False, "retries": 1}
        with Stage(plan(service.url, gone.url, upstream=upstream)) as stage:
            for number in range(6):
                # So that there is budget for each.
                stage.tick(10.0)
                with stage.talk() as talk:
                    assert reply(talk, get("/", f"X-User: {number}")).status == 200


def test_a_server_has_only_so_many_connections(server: Backing) -> None:
    with (
        Stage(plan(server.url, upstream={"connections": 1})) as stage,
        stage.talk() as talk,
        stage.talk() as other,
    ):
        caller = asked(talk, server)
        full = reply(other)
        assert (full.status, full.all("retry-after")) == (503, ["1"])
        caller.say(FINE)
        assert answered(talk).status == 200
        other.send(get("/"))
        caller.head()
        caller.say(FINE)
        assert answered(other).status == 200


def test_a_connection_that_nobody_uses_is_closed(server: Backing) -> None:
    with Stage(plan(server.url, upstream={"idle": "3s"})) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(FINE)
        assert answered(talk).status == 200
        stage.tick()
        stage.tick(2.9)
        assert stage.idle() == 1
        stage.tick(0.2)
        assert stage.idle() == 0
        caller.ended()
