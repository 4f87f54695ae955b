"""Connections that turn to another protocol: bytes pass as they are, and all that is held stays."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve

from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.streams import MIB, Sending, parts
from tests.gateway.talking import Talk, single

SOCKET = b"GET /a HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
TURNED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
GET = b"GET /b HTTP/1.1\r\nHost: a.test\r\n\r\n"
ONE = {"name": "one", "concurrent": 1}


def tunnel(stage: Stage, server: Backing, more: bytes = b"") -> tuple[Talk, Caller]:
    """Both ends of a tunnel."""
    talk = stage.talk()
    talk.send(SOCKET + more)
    caller = server.take()
    head = caller.head().lower()
    assert b"\r\nconnection: upgrade\r\n" in head
    assert b"\r\nupgrade: websocket\r\n" in head
    caller.say(TURNED)
    heard = talk.upto(b"\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"\r\nupgrade: websocket\r\n" in heard
    return talk, caller


def echo(line: ServerConnection) -> None:
    """Say what is said; hang up if that is wished."""
    for message in line:
        if message == "bye":
            line.close(4000, "as you wish")
            return
        line.send(message)


@pytest.fixture(scope="module")
def sockets() -> Iterator[str]:
    """A server of WebSockets."""
    with serve(echo, "127.0.0.1", 0, subprotocols=["chat"], max_size=None) as server:  # type: ignore[list-item]
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{place(server)}"
        server.shutdown()
        thread.join()


def place(server: Server) -> int:
    port: int = server.socket.getsockname()[1]
    return port


def test_a_websocket_passes(sockets: str) -> None:
    with Stage(plan(sockets)) as stage:
        there = f"ws://127.0.0.1:{stage.port}/chat?a=b"
        with connect(there, subprotocols=["chat"], max_size=None, proxy=None) as line:  # type: ignore[list-item]
            assert line.subprotocol == "chat"
            for message in ("", "hello", "ünï", b"\x00\xff", b"x" * MIB, "y" * 1_000_000):
                line.send(message)
                assert line.recv() == message
            assert line.ping().wait(5)
            stage.rest(clients=1, busy=1, places=1)
        stage.rest()


def test_a_websocket_ends_from_the_other_side(sockets: str) -> None:
    with Stage(plan(sockets)) as stage:
        with connect(f"ws://127.0.0.1:{stage.port}/", subprotocols=["chat"], proxy=None) as line:  # type: ignore[list-item]
            line.send("bye")
            with pytest.raises(ConnectionClosed) as closed:
                line.recv()

            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4000, "as you wish")
        stage.rest()


def test_a_route_may_say_no_to_them(sockets: str) -> None:
    with Stage(plan(sockets, route={"upgrade": False})) as stage:
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{stage.port}/", proxy=None)

        # The server was asked for a page, and would rather have been asked for a WebSocket.
        assert refused.value.response.status_code == 426
        stage.rest()


@pytest.mark.parametrize(
    ("upgrade", "asked", "passes"),
    [
        (True, b"websocket", True),
        (True, b"WebSocket", True),
        (True, b"tcp", False),
        (True, b"websocket, h2c", False),
        (False, b"websocket", False),
        (["tcp"], b"tcp", True),
        (["tcp"], b"websocket", False),
    ],
)
def test_only_protocols_that_a_route_names_are_turned_to(
    upgrade: Any, asked: bytes, passes: bool, server: Backing
) -> None:
    route = {"upgrade": upgrade, "retries": 0}
    with Stage(plan(server.url, route=route)) as stage, stage.talk() as talk:
        talk.send(SOCKET.replace(b"websocket", asked))
        caller = server.take()
        head = caller.head().lower()
        assert (b"upgrade" in head) == passes
        # It turns, whatever it was asked.
        caller.say(TURNED)

        assert talk.receive().startswith(b"HTTP/1.1 101 " if passes else b"HTTP/1.1 502 ")
        stage.rest(**({"clients": 1, "busy": 1, "places": 1} if passes else {"clients": 1}))


@pytest.mark.parametrize("answer", [FINE, FINE.replace(b"200 OK", b"403 Forbidden")])
def test_a_server_may_say_no(answer: bytes, server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        # The next request comes before it is known what it is.
        talk.send(SOCKET + GET)
        caller = server.take()
        caller.head()
        caller.say(answer)
        heard = answered(talk)
        assert heard.body == b"fine"
        assert caller.head().startswith(b"GET /b HTTP/1.1\r\n")
        caller.say(FINE)
        heard = answered(talk)
        assert heard.status == 200
        stage.rest(clients=1)


def test_bytes_pass_as_they_are(server: Backing) -> None:
    with Stage(plan(server.url)) as stage:
        talk, caller = tunnel(stage, server, b"early ")
        with talk:
            for word in (GET, b"\x00\xff\r\n\r\n", FINE, b"x" * 100_000):
                talk.send(*(single(word) if len(word) < 100 else [word]))
                assert caller.read(len(word) + len(b"early ")) == b"early " + word
                caller.say(word + b"early ")
                assert talk.upto(word + b"early ") == word + b"early "
                talk.send(b"early ")
            stage.rest(clients=1, busy=1, places=1)
            assert stage.gateway.status()["requests"] == 1
        caller.ended()
        stage.rest()


def test_what_the_server_says_with_its_101_belongs_to_the_tunnel(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        talk.send(SOCKET)
        caller = server.take()
        caller.head()
        caller.say(TURNED + FINE)

        assert talk.upto(b"fine").endswith(b"\r\n\r\n" + FINE)


@pytest.mark.parametrize("abrupt", [False, True], ids=["closes", "resets"])
def test_a_tunnel_ends_with_either_side(abrupt: bool, server: Backing) -> None:
    with Stage(plan(server.url)) as stage:
        talk, caller = tunnel(stage, server)
        with talk:
            caller.say(b"last words", turn=stage.turn)
            caller.reset() if abrupt else caller.close()
            assert talk.rest() == b"last words"
        stage.rest()
        talk, caller = tunnel(stage, server)
        talk.send(b"last words")
        talk.socket.close()
        assert caller.ended() == b"last words"
        stage.rest()


def test_a_place_is_held_as_long_as_the_tunnel_is_open(server: Backing) -> None:
    with Stage(plan(server.url, rules=[ONE])) as stage:
        talk, caller = tunnel(stage, server)
        with talk, stage.talk() as other:
            other.send(GET)
            refused = answered(other)
            assert refused.status == 503
            talk.socket.close()
            stage.rest(clients=1)
            other.send(GET)
            again = server.take()
            again.head()
            again.say(FINE)
            heard = answered(other)
            assert heard.status == 200


def test_a_tunnel_may_be_silent_for_as_long_as_it_likes(server: Backing) -> None:
    with Stage(plan(server.url)) as stage:
        talk, caller = tunnel(stage, server)
        with talk:
            for _ in range(3):
                stage.tick(86_400.0)
            talk.send(b"still")
            assert caller.read(5) == b"still"
            caller.say(b"there")
            assert talk.receive() == b"there"


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_tunnel_is_as_fast_as_who_reads(way: str, server: Backing) -> None:
    size = 20 * MIB
    with Stage(plan(server.url)) as stage:
        talk, caller = tunnel(stage, server)
        with talk:
            sender, reader = talk.socket, caller.line
            if way == "down":
                sender, reader = reader, sender
            sending = Sending(sender, parts(size))
            while not stage.full():
                stage.turn()
            assert hashed(reader, size) == hashed(iter(parts(size)), size)
            sending.join()
            # Who was held up once is not held to a time.
            stage.tick(86_400.0)
            stage.rest(clients=1, busy=1, places=1)
            talk.send(b"still")
            assert caller.read(5) == b"still"


def hashed(source: socket.socket | Iterator[bytes], size: int) -> str:
    found = hashlib.sha256()
    while size > 0:
        data = next(source) if isinstance(source, Iterator) else source.recv(1 << 16)
        found.update(data)
        size -= len(data)
    return found.hexdigest()
