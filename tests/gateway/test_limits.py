"""How much a gateway takes from a client."""

from __future__ import annotations

import resource
import socket
from pathlib import Path

import pytest

from tests.gateway.asking import GET, asked, served
from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.streams import END, chunk

POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("expecting", [b"", b"Expect: 100-continue\r\n"])
def test_a_body_that_will_be_too_long_is_refused_at_once(expecting: bytes, server: Backing) -> None:
    with Stage(plan(server.url, limits={"body": "10KB"})) as stage, stage.talk() as talk:
        talk.send(POST + expecting + b"Content-Length: 10001\r\n\r\n")
        answer = answered(talk)

        assert (answer.status, answer.all("connection")) == (413, ["close"])
        assert answer.interim == ()
        assert talk.finish() == b""
        assert not server.asked()
        stage.rest()


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_a_body_that_has_become_too_long_is_refused_then(size: int, server: Backing) -> None:
    with Stage(plan(server.url, limits={"body": "10KB"})) as stage, stage.talk() as talk:
        caller = asked(talk, server, CHUNKED)
        talk.send(chunk(b"x" * 10_000))
        stage.rest(clients=1, busy=1, places=1)
        talk.send(chunk(b"x" * size) + END)
        answer = answered(talk)

        assert (answer.status, answer.all("connection")) == (413, ["close"])
        # The server never sees an end of it.
        assert not caller.ended().endswith(b"0\r\n\r\n")
        assert talk.finish() == b""
        stage.rest()


@pytest.mark.parametrize(
    "request_",
    [
        POST + b"Content-Length: 10000\r\n\r\n" + b"x" * 10_000,
        CHUNKED + chunk(b"x" * 10_000) + END,
    ],
    ids=["length", "chunks"],
)
def test_a_body_may_be_as_long_as_is_said(request_: bytes, server: Backing) -> None:
    with Stage(plan(server.url, limits={"body": "10KB"})) as stage, stage.talk() as talk:
        asked(talk, server, request_).say(FINE)

        assert answered(talk).status == 200


def test_only_so_many_clients_are_let_in(server: Backing) -> None:
    with (
        Stage(plan(server.url, limits={"connections": 2})) as stage,
        stage.talk() as one,
        stage.talk() as two,
    ):
        stage.rest(clients=2)
        with stage.talk() as three:
            assert three.rest() == b""
        assert stage.gateway.status()["turned_away"] == 1
        assert served(two, server).status == 200
        one.socket.close()
        stage.rest(clients=1)
        stage.clear()
        with stage.talk() as four:
            assert served(four, server).status == 200


def test_one_client_has_only_so_many_connections(server: Backing) -> None:
    rules = plan(server.url, limits={"per_client": 2})
    with Stage(rules) as stage, stage.talk(), stage.talk() as two, stage.talk() as three:
        assert three.rest() == b""
        stage.rest(clients=2)
        two.socket.close()
        stage.rest(clients=1)
        with stage.talk():
            stage.rest(clients=2)


def test_behind_a_proxy_that_is_believed_are_many(server: Backing) -> None:
    client = {"trusted_proxies": ["127.0.0.1/32"]}
    rules = plan(server.url, limits={"per_client": 2}, client=client)
    with Stage(rules) as stage, stage.talk(), stage.talk(), stage.talk() as three:
        stage.rest(clients=3)
        assert served(three, server).status == 200


def test_a_bound_that_comes_later_counts_who_comes_later(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as early, stage.talk():
        stage.rest(clients=2)
        stage.change(plan(server.url, limits={"per_client": 1}))
        with stage.talk():
            stage.rest(clients=3)
            early.socket.close()
            stage.rest(clients=2)
            # One was counted, and it is still there.
            with stage.talk() as late:
                assert late.rest() == b""


def test_a_connection_has_only_so_many_requests(server: Backing) -> None:
    with Stage(plan(server.url, limits={"requests": 3})) as stage, stage.talk() as talk:
        caller = asked(talk, server, GET * 5)
        closing = []
        for number in range(3):
            if number:
                caller.head()
            caller.say(FINE)
            closing.append(answered(talk).all("connection"))

        assert closing == [[], [], ["close"]]
        assert talk.rest() == b""
        assert stage.gateway.status()["requests"] == 3


@pytest.mark.parametrize(
    "data",
    [
        CHUNKED + b"nonsense\r\n",
        CHUNKED + b"5\r\nhello\r\nnonsense\r\n",
        CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n",
    ],
)
def test_what_turns_out_to_be_no_request_keeps_nothing(data: bytes, server: Backing) -> None:
    """Even if that comes out in the same moment in which a server was to be reached."""
    with Stage(plan(server.url, upstream={"connections": 1})) as stage:
        for _ in range(3):
            with stage.talk() as talk:
                talk.send(data)
                assert answered(talk).status == 400
            stage.rest()
        with stage.talk() as talk:
            talk.send(GET)
            while gone(caller := server.take()):
                pass
            caller.head()
            caller.say(FINE)
            assert answered(talk).status == 200


def gone(caller: Caller) -> bool:
    """Whether it is a connection that was given up before anything was asked over it."""
    try:
        return not caller.line.recv(1, socket.MSG_PEEK)
    except ConnectionError:
        return True


def test_long_names_of_hosts_are_not_remembered(server: Backing) -> None:
    rules = plan(server.url, rules=[{"name": "none", "deny": True}])
    with Stage(rules) as stage, stage.talk() as talk:
        before = pages()
        for number in range(500):
            talk.send(b"GET / HTTP/1.1\r\nHost: %b%d\r\n\r\n" % (b"a" * 60_000, number))
            assert answered(talk).status == 403

        # They would be 30 MB.
        assert (pages() - before) * resource.getpagesize() < 15_000_000


def pages() -> int:
    """How many pages of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1])
