"""Requests and answers in all their forms: chunks and trailers, asking first, several at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.asking import GET, HEAD, asked, served
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import single

CHUNKS = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n"
PLAIN = b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\n"
EXPECTING = POST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"


@pytest.mark.parametrize("apart", [False, True], ids=["at once", "byte by byte"])
def test_chunks_and_trailers_go_up_as_they_are_meant(
    apart: bool, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, POST + b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
        talk.send(*(single(CHUNKS) if apart else [CHUNKS]))
        heard = caller.read(5)
        while not heard.endswith(b"\r\n\r\n"):
            heard += caller.read(1)
        caller.say(FINE)

        parts = b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\nd\r\n1\r\ne\r\n"
        assert heard == (parts + PLAIN[15:] if apart else PLAIN)
        assert answered(talk).status == 200


def test_chunks_and_trailers_go_down_as_they_are_meant(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS)
        heard = talk.upto(b"X-More: 6\r\n\r\n")

        assert heard.partition(b"\r\n\r\n")[2] == PLAIN
        stage.rest(clients=1)
        assert stage.idle() == 1


@pytest.mark.parametrize(
    "trailer",
    [
        b"Transfer-Encoding: chunked", b"Set-Cookie: a=b", b"Trailer: X",
        b"Connection: close", b"Content-Type: text/html", b"Cache-Control: no-store",
    ],
)  # fmt: skip
def test_what_has_no_place_behind_a_body_goes_no_further(
    trailer: bytes, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailer + b"\r\n")
        caller.say(b"X-Sum: 5\r\n\r\n")
        heard = talk.upto(b"X-Sum: 5\r\n\r\n")

        assert heard.partition(b"\r\n\r\n")[2] == b"0\r\nX-Sum: 5\r\n\r\n"


def test_a_length_behind_a_body_is_not_believed_and_neither_is_the_body(
    stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", turn=stage.turn)
        caller.say(b"0\r\nContent-Length: 5\r\n\r\n")

        assert talk.rest().endswith(b"\r\n\r\n5\r\nhello\r\n")
        caller.ended()
    stage.rest()


def test_a_head_is_passed_on_before_its_body_comes(stage: Stage, server: Backing) -> None:
    for size in (5, 50_000, 5_000_000):
        with stage.talk() as talk:
            caller = asked(talk, server)
            caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % size)

            assert talk.receive().startswith(HEAD)


def test_who_asks_first_is_told_to_go_on_when_rules_and_a_server_are_there(
    stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        talk.send(EXPECTING)
        caller = server.take()
        assert b"expect" not in caller.head().lower()
        assert talk.receive() == b"HTTP/1.1 100 Continue\r\n\r\n"
        talk.send(b"hello")
        assert caller.read(5) == b"hello"
        caller.say(b"HTTP/1.1 100 Continue\r\n\r\n" + FINE)
        answer = answered(talk)

        assert (answer.status, answer.interim) == (200, ())
        stage.rest(clients=1)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"limit": {"rate": "1/h", "burst": 1}, "cost": 1}, 429),
        ({"deny": True}, 403),
        ({"limit": {"rate": "1/h", "burst": 1}, "over": "redirect /busy"}, 302),
    ],
)
def test_who_asks_first_and_is_refused_sends_nothing(
    rule: dict[str, Any], status: int, server: Backing
) -> None:
    with Stage(plan(server.url, rules=[{"name": "no", **rule}])) as stage:
        with stage.talk() as talk:
            if "limit" in rule:
                assert served(talk, server).status == 200
            talk.send(EXPECTING)
            answer = answered(talk)

            assert (answer.status, answer.interim) == (status, ())
            assert answer.all("connection") == ["close"]
            assert talk.finish() == b""
        stage.rest()


def test_who_asks_first_is_not_told_to_go_on_if_there_is_no_server() -> None:
    with Backing() as gone:
        rules = plan(gone.url)
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(EXPECTING)
        answer = answered(talk)

        assert (answer.status, answer.interim) == (502, ())


def test_a_client_of_http_1_0_is_not_told_to_go_on(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, EXPECTING.replace(b"HTTP/1.1", b"HTTP/1.0"))
        talk.send(b"hello")
        caller.read(5)
        caller.say(FINE)

        assert talk.rest().startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("apart", [False, True], ids=["at once", "byte by byte"])
def test_requests_sent_at_once_are_answered_in_their_order(
    apart: bool, stage: Stage, server: Backing
) -> None:
    requests = [
        b"GET /0 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        b"HEAD /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"GET /4 HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
    bodies = [b"", b"hello", b"", b"2\r\nhi\r\n0\r\n\r\n", b""]
    with stage.talk() as talk:
        data = b"".join(requests)
        talk.send(*(single(data) if apart else [data]))
        caller = server.take()
        for number, body in enumerate(bodies):
            assert caller.head().split(b" ")[1] == b"/%d" % number
            assert caller.read(len(body)) == body
            # The next is not asked for before this one is answered.
            assert caller.spare == b""
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
            caller.say(answer if number == 2 else answer + b"body %d" % number)
            heard = answered(talk, "HEAD" if number == 2 else "GET")
            assert heard.body == (b"" if number == 2 else b"body %d" % number)
        stage.rest(clients=1)


@pytest.mark.parametrize("count", [16, 17])
def test_only_so_many_requests_stand_in_line(count: int, stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        talk.send(GET * count)
        caller = server.take()
        for _ in range(16):
            caller.head()
            caller.say(FINE)

        statuses = [answered(talk).status for _ in range(count)]
        assert statuses == [200] * 16 + [400] * (count - 16)


@pytest.mark.parametrize("left", [False, True], ids=["it waits", "it leaves"])
@pytest.mark.parametrize(
    "bad", [b"ZZ\r\n", b"1\r\nab", b"0\r\nContent-Length: 1\r\n\r\n"], ids=repr
)
def test_a_bad_body_is_told_of_in_its_turn(
    bad: bytes, left: bool, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, GET + POST + b"Transfer-Encoding: chunked\r\n\r\n" + bad)
        stage.turn()
        if not left:
            caller.say(FINE)
            first, second = answered(talk), answered(talk)
            assert (first.status, first.body, second.status) == (200, b"fine", 400)
            assert second.all("connection") == ["close"]
            assert talk.finish() == b""
    stage.rest()
