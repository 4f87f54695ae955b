"""Bodies pass through as they come: every byte, and never all at once."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headgate.gateway.lobby import HIGH
from tests.gateway.apart import Apart
from tests.gateway.asking import GET, HEAD, NEXT, asked, served
from tests.gateway.backing import BLANK, Backing, Caller
from tests.gateway.staging import FINE, ROOM, Stage, answered, narrow, plan, widen
from tests.gateway.streams import END, MIB, Sending, chunk, digest, download, framing, upload
from tests.gateway.talking import Talk
from tests.servers.waiting import until

HINT = b"HTTP/1.1 103 Early Hints\r\nX-Much: " + b"x" * 5_000 + b"\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\n"
KEEPING = {
    "name": "keeping",
    "limit": "1000/s",
    "over": {"degrade": {"body": "later", "stale": "1min"}},
}
# It holds back answers, but none for long.
WIDE = {"name": "wide", "bandwidth": "1GB/s"}
RULES = {"plain": [ROOM], "held back": [KEEPING, WIDE]}


@pytest.fixture(scope="module", params=RULES.values(), ids=[*RULES])
def apart(request: pytest.FixtureRequest) -> Iterator[tuple[Apart, Backing]]:
    """A gateway of which one can see how much memory it takes, and its server."""
    with ExitStack() as stack:
        backing = stack.enter_context(Backing())
        rules = plan(backing.url, rules=request.param, upstream={"idle": "0s"})
        yield stack.enter_context(Apart(rules)), backing


def connecting(port: int) -> Callable[[], socket.socket]:
    return lambda: socket.create_connection(("127.0.0.1", port), 60)


def stand(sending: Sending) -> None:
    """Take in nothing until nobody can send any more."""
    until(sending.stuck, "everybody to wait for who reads nothing")


@pytest.mark.parametrize("pass_on", [download, upload], ids=["down", "up"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_long_body_is_passed_on_and_not_kept(
    pass_on: Any, chunked: bool, apart: tuple[Apart, Backing]
) -> None:
    gateway, server = apart
    size = 32 * MIB
    # What is needed for any request at all is not what is measured.
    pass_on(connecting(gateway.port), server, MIB, chunked, stand)
    before = gateway.settle()
    received = pass_on(connecting(gateway.port), server, size, chunked, stand)

    assert (received.size, received.digest()) == (size, digest(size))
    assert gateway.peak() - before < 8 * MIB


def test_small_parts_that_nobody_takes_in_take_no_more_room_than_they_have(
    stage: Stage, server: Backing
) -> None:
    body = b"".join(b"%010d" % number for number in range(4_000))
    with stage.talk() as talk:
        caller = asked(talk, server)
        burden(stage, talk, caller)
        caller.say(HEAD + framing(len(body), False) + BLANK)
        tracemalloc.start()
        try:
            for at in range(0, 20_000, 100):
                caller.say(body[at : at + 100], turn=stage.turn)
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        caller.say(body[20_000:])

        assert answered(talk).body == body
        assert grown < MIB


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_the_next_answer_waits_for_who_has_not_taken_in_the_last(
    chunked: bool, stage: Stage, server: Backing
) -> None:
    """A client may ask for several at once, and read none of them."""
    with stage.talk() as talk:
        caller = asked(talk, server, GET * 2)
        size = overload(stage, talk, caller, chunked)
        caller.head()
        caller.say(HEAD + b"Content-Length: 3000000\r\n\r\n")
        caller.line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MIB // 4)
        sending = Sending(caller.line, (b"x" * 50_000 for _ in range(60)))
        stand(sending)

        assert sending.sent < 2 * MIB
        widen(talk.socket)
        assert [len(answered(talk).body) for _ in range(2)] == [size, 3_000_000]
        sending.join()


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_connection_is_good_for_another_after_a_client_was_slow(
    chunked: bool, stage: Stage, server: Backing
) -> None:
    size = MIB

    def connect() -> socket.socket:
        line = connecting(stage.port)()
        stage.turn()
        narrow(line)
        return line

    def late(_: Sending) -> None:
        until(stage.full, "the answer to be more than the client takes in")

    assert download(connect, server, size, chunked, late).digest() == digest(size)
    stage.rest()
    with stage.talk() as talk:
        again(talk, server.callers[0])


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_connection_is_good_for_another_when_its_client_was_too_slow(
    chunked: bool, stage: Stage, server: Backing
) -> None:
    """With its last bytes the answer was more than the client takes in; it was complete, too."""
    with stage.talk() as talk:
        caller = asked(talk, server)
        size = overload(stage, talk, caller, chunked)
        stage.rest(clients=1)
        widen(talk.socket)
        assert len(answered(talk).body) == size
        again(talk, caller)


def overload(stage: Stage, talk: Talk, caller: Caller, chunked: bool) -> int:
    """Answer in full, and with just more than the client is sent; how long the body is."""
    sizes = [20_000] * ((HIGH - 20_000) // 20_000) + [40_000]
    burden(stage, talk, caller)
    caller.say(HEAD + framing(sum(sizes), chunked) + BLANK)
    for number, size in enumerate(sizes, 1):
        assert not stage.full()
        end = END if number == len(sizes) else b""
        caller.say(chunk(b"x" * size) + end if chunked else b"x" * size, turn=stage.turn)
    assert stage.full()
    return sum(sizes)


def burden(stage: Stage, talk: Talk, caller: Caller) -> None:
    """Send hints until it is no more the machine that keeps them for the client."""
    narrow(talk.socket)
    while not stage.behind():
        caller.say(HINT, turn=stage.turn)


def again(talk: Talk, caller: Caller) -> None:
    """Another request, over the same connection."""
    talk.send(NEXT)
    assert caller.head().startswith(b"GET /next ")
    caller.say(FINE)
    assert answered(talk).body == b"fine"


def test_a_client_goes_on_when_its_server_was_too_slow(stage: Stage, server: Backing) -> None:
    """It has sent all of its body, and the server answers before it has taken that in."""
    with stage.talk() as talk:
        caller = asked(talk, server, POST + b"Transfer-Encoding: chunked\r\n\r\n")
        narrow(caller.line)
        # Nearly as much as a gateway keeps for a server, and then too much, in one piece.
        while stage.owing() < HIGH - 30_000:
            talk.send(chunk(b"x" * 5_000))
        assert not stage.full()
        talk.send(chunk(b"x" * 40_000) + END)
        until(stage.full, "the client to be made to wait")
        caller.say(FINE)
        answer = answered(talk)
        assert (answer.body, answer.all("connection")) == (b"fine", [])
        # Who has not taken in all of a request is not given another.
        assert served(talk, server, NEXT).body == b"fine"
        caller.ended()
        stage.rest(clients=1)


def test_a_long_body_in_line_waits_for_its_turn(stage: Stage, server: Backing) -> None:
    body = b"x" * 1_000_000
    with stage.talk() as talk:
        caller = asked(talk, server)
        sending = Sending(
            talk.socket, iter([POST + b"Content-Length: %d\r\n\r\n" % len(body), body])
        )
        until(stage.full, "the client to be made to wait")
        caller.say(FINE)
        caller.head()
        assert caller.read(len(body)) == body
        sending.join()
        caller.say(FINE)

        assert [answered(talk).body for _ in range(2)] == [b"fine"] * 2
