"""Bodies pass through as they come: every byte, in any framing, and never all at once."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.gateway.apart import Apart
from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, ROOM, Stage, plan
from tests.gateway.streams import MIB, Sending, digest, download, upload
from tests.gateway.talking import Talk, single
from tests.servers.waiting import until

HEAD = b"HTTP/1.1 200 OK\r\nX-A: b\r\n"
CHUNKS = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n"
PLAIN = b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\n"
KEEPING = {
    "name": "keeping",
    "limit": "1000/s",
    "over": {"degrade": {"body": "later", "stale": "1min"}},
}
# It holds back answers, but none for long.
WIDE = {"name": "wide", "bandwidth": "1GB/s"}


@pytest.fixture
def server() -> Iterator[Backing]:
    with Backing() as backing:
        yield backing


@pytest.fixture
def stage(server: Backing) -> Iterator[Stage]:
    with Stage(plan(server.url)) as stage:
        yield stage


def connecting(port: int) -> Callable[[], socket.socket]:
    return lambda: socket.create_connection(("127.0.0.1", port), 60)


def asked(talk: Talk, server: Backing, request: bytes) -> Caller:
    talk.send(request)
    caller = server.take()
    caller.head()
    return caller


def stand(sending: Sending) -> None:
    """Take in nothing until nobody can send any more."""
    until(sending.stuck, "everybody to wait for who reads nothing")


@pytest.mark.parametrize("pass_on", [download, upload], ids=["down", "up"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize("rules", [[ROOM], [KEEPING, WIDE]], ids=["plain", "held back"])
def test_a_long_body_is_passed_on_and_not_kept(
    pass_on: Any, chunked: bool, rules: Any, server: Backing
) -> None:
    size = 64 * MIB
    with Apart(plan(server.url, rules=rules, upstream={"idle": "0s"})) as apart:
        # What is needed for any request at all is not what is measured.
        pass_on(connecting(apart.port), server, MIB, chunked, stand)
        before = apart.settle()
        received = pass_on(connecting(apart.port), server, size, chunked, stand)

        assert (received.size, received.digest()) == (size, digest(size))
        assert apart.peak() - before < 8 * MIB


def test_small_parts_that_nobody_takes_in_take_no_more_room_than_they_have(
    server: Backing,
) -> None:
    with Apart(plan(server.url)) as apart, connecting(apart.port)() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
        caller = server.take()
        caller.head()
        caller.say(HEAD + b"Content-Length: 100000000\r\n\r\n")
        before = apart.settle()
        sending = Sending(caller.line, iter(lambda: b"x" * 100, b""))
        stand(sending)

        assert apart.peak() - before < 8 * MIB
        client.close()


def test_the_next_answer_waits_for_who_has_not_taken_in_the_last(server: Backing) -> None:
    """A client may ask for several at once and read none of them."""
    size = 8 * MIB
    with Apart(plan(server.url)) as apart, connecting(apart.port)() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n" * 16)
        caller = server.take()
        before = apart.settle()
        answers = (HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * size for _ in range(16))
        sending = Sending(caller.line, answers)
        stand(sending)

        assert apart.peak() - before < 8 * MIB
        client.close()


@pytest.mark.parametrize("size", [300_000, 1_000_000, 20_000_000])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_connection_is_good_for_another_after_a_client_was_slow(
    size: int, chunked: bool, server: Backing
) -> None:
    with Stage(plan(server.url)) as stage:
        download(connecting(stage.port), server, size, chunked, stand)
        stage.rest()
        with stage.talk() as talk:
            talk.send(b"GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n")
            caller = server.callers[0]
            assert caller.head().startswith(b"GET /b ")
            caller.say(FINE)
            answer = talk.hear()
            assert answer is not None
            assert answer.body == b"fine"


def test_a_client_goes_on_after_its_server_was_slow(server: Backing) -> None:
    """It has sent all of its body, of which the server has read nothing when it answers."""
    body = b"x" * 300_000
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        talk.send(POST + b"Content-Length: %d\r\n\r\n" % (20 * len(body)))
        caller = server.take()
        for _ in range(20):
            talk.send(body)
        until(stage.full, "the client to be made to wait")
        talk.socket.settimeout(5)
        caller.say(FINE)
        answer = talk.hear()

        assert answer is not None
        assert (answer.status, answer.body) == (200, b"fine")
        # Who has not taken in all of a request is not given another.
        caller.ended()
        if answer.all("connection") == []:
            talk.send(b"GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n")
            again = server.take()
            again.head()
            again.say(FINE)
            answer = talk.hear()
            assert answer is not None
            assert answer.body == b"fine"


@pytest.mark.parametrize("cut", [b"".__class__, None], ids=["at once", "byte by byte"])
def test_chunks_and_trailers_go_up_as_they_are_meant(
    cut: Any, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, POST + b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
        talk.send(*([CHUNKS] if cut else single(CHUNKS)))
        heard = caller.read(5)
        while not heard.endswith(b"\r\n\r\n"):
            heard += caller.read(1)
        caller.say(FINE)

        parts = b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\nd\r\n1\r\ne\r\n"
        joined = PLAIN if cut else parts + PLAIN[15:]
        assert heard == joined
        answer = talk.hear()
        assert answer is not None
        assert answer.status == 200


def test_chunks_and_trailers_go_down_as_they_are_meant(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS)
        heard = talk.receive()
        while not heard.endswith(b"X-More: 6\r\n\r\n"):
            heard += talk.receive()

        assert heard.partition(b"\r\n\r\n")[2] == PLAIN
        stage.rest(clients=1)
        assert stage.idle() == 1


@pytest.mark.parametrize(
    "trailer",
    [
        b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Set-Cookie: a=b", b"Trailer: X",
        b"Connection: close", b"Content-Type: text/html", b"Cache-Control: no-store",
    ],
)  # fmt: skip
def test_what_has_no_place_behind_a_body_goes_no_further(
    trailer: bytes, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailer + b"\r\n\r\n")
        caller.shut()
        heard = talk.finish()

        assert trailer not in heard.partition(b"\r\n\r\n")[2]


def test_a_head_is_passed_on_before_its_body_comes(stage: Stage, server: Backing) -> None:
    for size in (5, 50_000, 5_000_000):
        with stage.talk() as talk:
            caller = asked(talk, server, b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
            caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % size)

            assert talk.receive().startswith(HEAD)


EXPECTING = POST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"


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
        answer = talk.hear()

        assert answer is not None
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
                asked(talk, server, b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n").say(FINE)
                talk.hear()
            talk.send(EXPECTING)
            answer = talk.hear()

            assert answer is not None
            assert (answer.status, answer.interim) == (status, ())
            assert answer.all("connection") == ["close"]
            assert talk.finish() == b""
        stage.rest()


def test_who_asks_first_is_not_told_to_go_on_if_there_is_no_server() -> None:
    with Backing() as gone:
        rules = plan(gone.url)
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(EXPECTING)
        answer = talk.hear()

        assert answer is not None
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
            heard = talk.hear("HEAD" if number == 2 else "GET")
            assert heard is not None
            assert heard.body == (b"" if number == 2 else b"body %d" % number)
        stage.rest(clients=1)


def test_a_long_body_in_line_waits_for_its_turn(stage: Stage, server: Backing) -> None:
    body = b"x" * 1_000_000
    with stage.talk() as talk:
        caller = asked(talk, server, b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
        sending = Sending(
            talk.socket, iter([POST + b"Content-Length: %d\r\n\r\n" % len(body), body])
        )
        until(stage.full, "the client to be made to wait")
        caller.say(FINE)
        caller.head()
        assert caller.read(len(body)) == body
        sending.join()
        caller.say(FINE)

        for _ in range(2):
            answer = talk.hear()
            assert answer is not None
            assert answer.body == b"fine"


@pytest.mark.parametrize("count", [16, 17])
def test_only_so_many_requests_stand_in_line(count: int, stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        talk.send(b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n" * count)
        caller = server.take()
        for _ in range(16):
            caller.head()
            caller.say(FINE)
        statuses = []
        for _ in range(count):
            answer = talk.hear()
            assert answer is not None
            statuses.append(answer.status)

        assert statuses == [200] * 16 + [400] * (count - 16)
