"""Rules in front of a WSGI application that a real server serves, to clients that come and go."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.adapters.wsgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.serving import Guest, served
from tests.servers.process import ServerProcess
from tests.servers.waiting import until

ALONE = Rules([Rule("alone", key="header.x-user", concurrent=1)])
PART = b"x" * 10_000


class Fountain:
    """An application that sends a part, and then waits to be told before it sends each other."""

    def __init__(self) -> None:
        self.gates = [threading.Event() for _ in range(100)]

    def __call__(self, environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [("Content-Type", "text/plain")])
        yield PART
        for gate in self.gates:
            assert gate.wait(20)
            yield PART

    def open(self) -> None:
        """Let it flow."""
        for gate in self.gates:
            gate.set()


def test_what_is_streamed_arrives_while_the_application_is_at_it() -> None:
    app = Fountain()
    with served(HeadgateMiddleware(app, ALONE)) as port:
        guest = Guest(port, "/", x_user="ann")
        first = guest.read(len(PART))
        app.gates[0].set()
        second = guest.read(len(PART))
        app.open()
        rest = guest.read()
        guest.go()

    assert (first, second, len(rest)) == (PART, PART, 99 * len(PART))


def test_a_place_is_held_for_the_length_of_a_stream() -> None:
    app = Fountain()
    middleware = HeadgateMiddleware(app, ALONE)
    with served(middleware) as port:
        first = Guest(port, "/", x_user="ann")
        statuses = [status(port, "ann"), status(port, "ann")]
        app.open()
        other = status(port, "bob")
        first.read()
        first.go()
        until(lambda: status(port, "ann") == 200, "the place to be free")

    assert (first.status, statuses, other) == (200, [429, 429], 200)


def test_a_place_is_given_back_when_the_client_goes_away() -> None:
    app = Fountain()
    with served(HeadgateMiddleware(app, ALONE)) as port:
        first = Guest(port, "/", x_user="ann")
        first.read(10)
        first.go()
        assert status(port, "ann") == 429

        # Only by sending more does a server find out that nobody is there.
        app.open()

        until(lambda: status(port, "ann") == 200, "the place to be free")


GUNICORN = """
import threading
from headgate.adapters.wsgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

GATE = threading.Event()

def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    yield b"x" * 10_000
    if environ["PATH_INFO"] == "/open":
        GATE.set()
    elif environ["PATH_INFO"] == "/":
        assert GATE.wait(20)
        for _ in range(100):
            yield b"x" * 10_000

app = HeadgateMiddleware(app, Rules([Rule("alone", key="header.x-user", concurrent=1)]))
"""


@pytest.fixture
def gunicorn() -> Iterator[int]:
    """The port of a gunicorn with four threads."""
    pytest.importorskip("gunicorn")
    environment = (f"PYTHONPATH={os.pathsep.join(sys.path)}", "HOME=FOLDER")
    words = ("-k", "gthread", "--threads", "4", "-b", "127.0.0.1:PORT", "fountain:app")
    command = ("env", *environment, sys.executable, "-m", "gunicorn", *words)
    with ServerProcess("gunicorn", command, {"fountain.py": GUNICORN}) as server:
        yield server.port


def test_under_gunicorn_a_place_is_held_and_given_back(gunicorn: int) -> None:
    first = Guest(gunicorn, "/", x_user="ann")
    first.read(10)
    first.go()
    refused = status(gunicorn, "ann")

    opened = status(gunicorn, "bob", "/open")

    until(lambda: status(gunicorn, "ann") == 200, "the place to be free")
    assert (first.status, refused, opened) == (200, 429, 200)


def status(port: int, user: str, path: str = "/") -> int:
    """What is said to another client, who reads to the end."""
    guest = Guest(port, path, x_user=user)
    found = guest.status
    if found != 200:
        guest.read()
    guest.go()
    return found
