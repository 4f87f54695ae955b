"""The judge of gateways finds fault with one that deserves it, and says which fault."""

from __future__ import annotations

import socket
from threading import Thread
from typing import Any

import pytest

from tests.gateway.cases import Case, Cut, Outcome, Passed, Refused, Two, ask, case, get, post
from tests.gateway.judging import judge, wrong
from tests.gateway.talking import Talk, whole
from tests.servers.visits import Visit

SECOND = b"GET /second HTTP/1.1\r\nHost: a.test\r\n\r\n"
KNOWN = (
    *(b"X-Forwarded-For: 127.0.0.1", b"X-Forwarded-Proto: http", b"X-Forwarded-Host: a.test"),
    b"Content-Length: 0",
)
SEEN = (
    *(("host", "a.test"), ("x-forwarded-for", "127.0.0.1")),
    *(("x-forwarded-host", "a.test"), ("x-forwarded-proto", "http")),
)
WHOLE = Visit("GET", "/case", SEEN)
BEGUN = Visit("GET", "/case", SEEN, whole=False)


class Careless:
    """A gateway that passes on whatever it gets over one connection, and relays one answer."""

    def __init__(self, upstream: Any) -> None:
        self.errors: list[str] = []
        self.upstream = upstream
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = Thread(target=self.serve)

    def __enter__(self) -> Careless:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def turn(self) -> None:
        """It reads when it likes."""

    def serve(self) -> None:
        with Talk(self.upstream.port) as upstream:
            while True:
                try:
                    client, _ = self.listener.accept()
                except OSError:
                    return
                with client:
                    upstream.send(client.recv(1 << 16))
                    self.relay(client, upstream)

    def relay(self, client: socket.socket, upstream: Talk) -> None:
        answer = upstream.hear()
        if answer is not None:
            head = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n" % answer.status
            size = b"Content-Length: %d\r\n\r\n" % len(answer.body)
            client.sendall(head + size + answer.body)


@pytest.fixture
def careless(uvicorn_h11: Any) -> Any:
    """A careless gateway before an upstream."""
    uvicorn_h11.visits()
    with Careless(uvicorn_h11) as gateway:
        yield gateway


def told(sent: Case, gateway: Careless) -> str:
    """The first line of what the judge has to say."""
    with pytest.raises(AssertionError) as error:
        judge(sent, whole(sent.data), gateway, gateway.upstream)
    return str(error.value).partition("\n")[0]


def sent(data: bytes, *expected: Outcome) -> Case:
    return case("sent", data, *expected)


def test_what_is_as_it_should_be_passes(careless: Careless) -> None:
    honest = sent(post(*KNOWN), Passed("POST"))

    judge(honest, whole(honest.data), careless, careless.upstream)


def test_a_hidden_request_is_answered_to_a_bystander(careless: Careless) -> None:
    hidden = sent(get(*KNOWN, body=SECOND), Passed())

    assert told(hidden, careless).startswith("a bystander was given Answer(status=200")


@pytest.mark.parametrize(
    ("data", "expected", "words"),
    [
        (get(), Passed(), "x-forwarded-for is [] and not '127.0.0.1'"),
        (get(*KNOWN, b"TE: x"), Passed(), "te is ['x'], which should not be there"),
        (get(*KNOWN, b"X-A: b"), Passed(lacks=("x-a",)), "x-a is ['b'], which should not be there"),
        (get(*KNOWN), Passed(has=(("x-a", "b"),)), "x-a is [] and not 'b'"),
        (get(*KNOWN), Passed(target="/other"), "Answer(status=200"),
        (post(*KNOWN), Passed("PUT"), "not ('PUT', '/case', b'', True)"),
        (post(*KNOWN), Passed("POST", body=b"x"), "not ('POST', '/case', b'x', True)"),
        (post(*KNOWN), Refused(), "heard [Answer(status=200"),
        (ask(b"rubbish"), Refused(), "a bystander was hung up on"),
    ],
)
def test_a_difference_is_named(
    data: bytes, expected: Outcome, words: str, careless: Careless
) -> None:
    assert told(sent(data, expected), careless).startswith(words)


@pytest.mark.parametrize(
    ("outcome", "visits", "words"),
    [
        (Refused(), [], ""),
        (Refused(), [BEGUN], "Refused(status=400), but 1 visits"),
        (Cut(), [], ""),
        (Cut(), [BEGUN], ""),
        (Cut(), [BEGUN, BEGUN], "Cut(status=400), but seen whole or twice"),
        (Cut(), [WHOLE], "Cut(status=400), but seen whole or twice"),
        (Passed(), [WHOLE], ""),
        (Passed(), [BEGUN], "not ('GET', '/case', b'', True)"),
        (Two(Passed(), Passed()), [WHOLE, WHOLE], ""),
        (Two(Passed(), Passed()), [WHOLE, BEGUN], "not ('GET', '/case', b'', True)"),
    ],
)
def test_visits_are_counted(outcome: Outcome, visits: list[Visit], words: str) -> None:
    assert wrong(outcome, visits) == words
