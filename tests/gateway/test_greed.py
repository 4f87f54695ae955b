"""Who takes and gives nothing: clients that never read, words that never end, on either side."""

from __future__ import annotations

import os
import select
import socket
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest

from tests.gateway.asking import GET, HEAD, NEXT, asked
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, ROOM, Stage, answered, narrow, plan
from tests.gateway.streams import MIB, Sending
from tests.gateway.test_tunnels import tunnel
from tests.servers.waiting import until

NEVER = {"name": "never", "limit": "1/h", "cost": 5}
WAITS = {"send": "5s", "idle": "5s", "head": "5s"}
CHUNKED = b"POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
SWITCH = b"GET / HTTP/1.1\r\nHost:a\r\nConnection:upgrade\r\nUpgrade:a\r\n\r\n"
HINT = b"HTTP/1.1 103 Early Hints\r\nX-Much: " + b"x" * 900 + b"\r\n\r\n"


def kept(stage: Stage) -> int:
    """How many bytes are kept for clients."""

    async def count() -> int:
        return sum(inlet.transport.get_write_buffer_size() for inlet in stage.inlets())

    return int(stage.call(count()))


@pytest.mark.parametrize("rule", [NEVER, ROOM], ids=["refused", "answered"])
def test_who_asks_and_never_reads_is_heard_no_more(rule: Any, server: Backing) -> None:
    with (
        Stage(plan(server.url, rules=[rule], timeouts=WAITS)) as stage,
        stage.talk() as talk,
        Talking(server) as talking,
    ):
        stage.turn()
        narrow(talk.socket)
        talk.socket.setblocking(False)
        unsent = b""
        for _ in range(600):
            unsent = unsent or GET * 20
            with suppress(BlockingIOError):
                unsent = unsent[talk.socket.send(unsent) :]
            stage.turn()
        assert kept(stage) < 2 * MIB

        for _ in range(3):
            stage.tick(6.0)
        talking.end()
        stage.rest()


class Talking:
    """A server that answers whatever it is asked, at length, in a thread of its own."""

    def __init__(self, server: Backing) -> None:
        self.server = server
        self.line = server.listener
        self.thread = Thread(target=self.run)

    def __enter__(self) -> Talking:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Hang up."""
        for line in (self.server.listener, self.line):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        self.thread.join()

    def run(self) -> None:
        answer = HEAD + b"Content-Length: 7000\r\n\r\n" + b"x" * 7_000
        with suppress(OSError):
            self.line, _ = self.server.listener.accept()
            with self.line as line:
                while heard := line.recv(1 << 16):
                    line.sendall(answer * heard.count(b"\r\n\r\n"))


@pytest.mark.parametrize("half", [False, True], ids=["open", "half closed"])
def test_who_does_not_take_in_the_end_of_an_answer_is_cut(half: bool, server: Backing) -> None:
    with Stage(plan(server.url, timeouts=WAITS)) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        narrow(talk.socket)
        body = b"x" * 200_000
        caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: stage.held().busy == 0 and stage.behind(), "the end to be waiting")
        if half:
            talk.socket.shutdown(socket.SHUT_WR)
        stage.turn()
        for _ in range(3):
            stage.tick(6.0)
        stage.rest()


def test_nothing_turns_while_who_has_left_does_not_read(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        narrow(talk.socket)
        caller.say(HEAD + b"Content-Length: 100000000\r\n\r\n", turn=stage.turn)
        while not stage.behind():
            caller.say(b"x" * 5_000, turn=stage.turn)
        talk.socket.shutdown(socket.SHUT_WR)
        stage.turn()
        caller.say(b"y" * 5_000, turn=stage.turn)

        until(lambda: not any(map(ready, polls())), "nothing to be left to do")


def polls() -> list[int]:
    """What loops of this process wait with."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if "eventpoll" in os.readlink(f"/proc/self/fd/{name}"):
                found.append(int(name))
    return found


def ready(poll: int) -> bool:
    """Whether a loop would not wait."""
    look = select.poll()
    look.register(poll, select.POLLIN)
    return bool(look.poll(0))


def test_upgrades_that_are_refused_come_one_after_the_other(server: Backing) -> None:
    with Stage(plan(server.url, rules=[NEVER])) as stage, stage.talk() as talk:

        async def together() -> None:
            # All of it is there before the gateway looks.
            talk.socket.sendall(SWITCH * 1000)

        stage.call(together())
        statuses = [answered(talk).status for _ in range(1000)]

        assert statuses == [429] * 1000
        assert talk.finish() == b""


def test_hints_are_passed_on_as_they_come(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        said, begin = HINT * 4, 0
        for number in (1, 2, 3):
            # Each read ends in the middle of the next.
            end = number * len(HINT) + 50
            caller.say(said[begin:end], turn=stage.turn)
            begin = end
            assert talk.upto(b"\r\n\r\n") == HINT
        caller.say(said[begin:] + FINE)

        answer = answered(talk)
        assert (answer.status, answer.interim) == (200, (103,))


@pytest.mark.parametrize("words", [b"0\r\nX-A: ", b"5;"], ids=["trailer", "extension"])
def test_what_never_ends_behind_a_head_is_refused(words: bytes, server: Backing) -> None:
    rules = plan(server.url, limits={"head": "64KiB"})
    with Stage(rules) as stage:
        with stage.talk() as talk:
            caller = asked(talk, server, CHUNKED)
            # So much may be said besides that is no body.
            sending = Sending(talk.socket, iter([b"%x\r\n" % MIB, b"x" * MIB, b"\r\n", words]))
            caller.read(MIB)
            sending.thread.join()
            for _ in range(32):
                talk.socket.sendall(b"a" * 65_536)

            assert answered(talk, "POST").status == 400
        stage.rest()


def test_a_trailer_of_a_server_that_never_ends_is_cut(server: Backing) -> None:
    with Stage(plan(server.url, upstream={"retries": 0})) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-A: ", turn=stage.turn
        )
        with suppress(OSError):
            for _ in range(32):
                caller.say(b"a" * 65_536, turn=stage.turn)

        assert talk.rest().endswith(b"1\r\nx\r\n")
        stage.rest()


def test_the_last_words_of_a_tunnel_arrive(server: Backing) -> None:
    with Stage(plan(server.url)) as stage:
        talk, caller = tunnel(stage, server)
        narrow(caller.line)
        words = b"x" * 200_000
        Sending(talk.socket, iter([words])).thread.join()
        until(lambda: stage.owing() > 0, "the server to be slow")
        talk.socket.close()
        stage.rest()
        heard = caller.ended()

        assert heard == words


BODY = b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 20000\r\n\r\n" + b"x" * 20_000


@pytest.mark.parametrize(
    ("head", "first", "second", "reads"),
    [
        ("8KiB", BODY + NEXT[:9], NEXT[9:], 20_000),
        ("8KiB", BODY + CHUNKED, b"5\r\nhello\r\n0\r\n\r\n", 20_000),
        ("64KiB", CHUNKED.replace(b"/a", b"/a?" + b"q" * 20_000), b"0\r\n\r\n" + NEXT, 5),
    ],
    ids=["half a head behind a body", "chunks behind a body", "a long query and chunks"],
)
def test_what_came_before_is_not_held_against_a_request(
    head: str, first: bytes, second: bytes, reads: int, server: Backing
) -> None:
    with Stage(plan(server.url, limits={"head": head})) as stage, stage.talk() as talk:

        async def together() -> None:
            talk.socket.sendall(first)

        stage.call(together())
        talk.send(second)
        for size in (reads, 0):
            caller = server.callers[-1] if server.callers else server.take()
            caller.head()
            caller.read(size)
            caller.say(FINE)
            assert answered(talk).status == 200


def test_what_is_more_than_a_long_answer_is_nobodys(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        caller = asked(talk, server, GET + NEXT)
        body = b"x" * 60_000
        evil = FINE.replace(b"fine", b"evil")
        caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body + evil)
        assert answered(talk).body == body
        second = server.take()
        second.head()
        second.say(FINE)

        assert answered(talk).body == b"fine"


def test_that_both_sides_have_left_is_no_trouble(
    server: Backing, caplog: pytest.LogCaptureFixture
) -> None:
    old = GET.replace(b"HTTP/1.1", b"HTTP/1.0")
    with Stage(plan(server.url, upstream={"retries": 0})) as stage:
        talk = stage.talk()
        caller = asked(talk, server, old)
        caller.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n")
        talk.upto(b"fi")

        async def together() -> None:
            talk.socket.close()
            caller.say(b"ZZ\r\n")

        stage.call(together())
        stage.rest()

    assert [one for one in caplog.records if one.levelname == "ERROR"] == []
