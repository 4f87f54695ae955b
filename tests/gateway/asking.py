"""A request that a server has heard, and the calm that has to come after whatever it says to it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, answered
from tests.gateway.talking import Answer, Talk

HEAD = b"HTTP/1.1 200 OK\r\nX-A: b\r\n"
SIZED = HEAD + b"Content-Length: 9\r\n\r\nsome body"
CODED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n"
ENDLESS = HEAD + b"\r\nsome body"
POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi"
GET = b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n"
WAITS = {"answer": "20s", "stall": "30s", "total": "10min"}


def asked(talk: Talk, server: Backing, request: bytes = GET) -> Caller:
    """The connection on which a server has heard what a client asks."""
    talk.send(request)
    caller = server.take()
    caller.head()
    return caller


def served(talk: Talk, server: Backing, request: bytes = GET) -> Answer:
    """The answer to a client whose server hears of it over a new connection, and is fine."""
    asked(talk, server, request).say(FINE)
    return answered(talk)


def reply(talk: Talk, request: bytes = GET) -> Answer:
    """The answer to a client that asks where no server has to be spoken for."""
    talk.send(request)
    return answered(talk, request.partition(b" ")[0].decode())


def ask(stage: Stage, server: Backing, request: bytes = POST) -> tuple[Talk, Caller]:
    """A client with a request, and the connection on which the server has heard it."""
    talk = stage.talk()
    caller = asked(talk, server, request)
    if request is POST:
        caller.read(2)
    return talk, caller


def lent(stage: Stage) -> Iterator[Stage]:
    """The gateway of many tests, with nothing in hand and no connection kept after each."""
    yield stage
    stage.rest()
    stage.clear()


def calm(stage: Stage, server: Backing, kept: Caller | None = None) -> None:
    """Nothing is left of what was, and the next request has its own answer.

    `kept` is the connection that it comes over; without one it is a new one.
    """
    stage.rest()
    assert stage.idle() == (0 if kept is None else 1)
    with stage.talk() as talk:
        talk.send(NEXT)
        caller = server.take() if kept is None else kept
        assert caller.head().startswith(b"GET /next HTTP/1.1\r\n")
        caller.say(FINE)
        answer = answered(talk)
        assert (answer.status, answer.body) == (200, b"fine")
    stage.rest()
