"""A client that leaves takes nothing with it: its place and its connection are free at once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.gateway.asking import GET, HEAD, asked, served
from tests.gateway.backing import ABRUPT, Backing, Caller
from tests.gateway.staging import ROOM, Held, Leap, Stage, plan
from tests.gateway.talking import Talk
from tests.servers.waiting import until

POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n"
SOCKET = b"GET /a HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
TURNED = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
FLOOD = b"x" * 65_536


class Scene(NamedTuple):
    """What has come about when the client leaves: what the gateway has in hand by then."""

    play: Callable[[Stage, Talk, Backing], Caller | None]
    held: Held
    # Whether nothing is read from the client by then: it is looked for at every tick.
    paused: bool = False


def silent(stage: Stage, talk: Talk, server: Backing) -> None:
    """It has said nothing."""


def half(stage: Stage, talk: Talk, server: Backing) -> None:
    talk.send(GET[:20])


def waiting(stage: Stage, talk: Talk, server: Backing) -> Caller:
    return asked(talk, server)


def pipelining(stage: Stage, talk: Talk, server: Backing) -> Caller:
    return asked(talk, server, GET * 3)


def crowding(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = waiting(stage, talk, server)
    fill(stage, talk.socket)
    return caller


def uploading(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = asked(talk, server, POST)
    talk.send(b"some")
    caller.read(4)
    return caller


def stuffing(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = uploading(stage, talk, server)
    fill(stage, talk.socket)
    return caller


def hinted(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = waiting(stage, talk, server)
    caller.say(b"HTTP/1.1 103 Early Hints\r\n\r\n", turn=stage.turn)
    return caller


def downloading(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = waiting(stage, talk, server)
    caller.say(HEAD + b"Content-Length: 9\r\n\r\nsome", turn=stage.turn)
    return caller


def carrying(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = waiting(stage, talk, server)
    caller.say(HEAD + b"Content-Length: 900000\r\n\r\n" + b"x" * 50_000, turn=stage.turn)
    return caller


def clogging(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = waiting(stage, talk, server)
    caller.say(HEAD + b"Content-Length: 100000000\r\n\r\n", turn=stage.turn)
    fill(stage, caller.line)
    return caller


def early(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = uploading(stage, talk, server)
    caller.say(HEAD + b"Content-Length: 9\r\n\r\nsome", turn=stage.turn)
    return caller


def tunnelling(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = asked(talk, server, SOCKET)
    caller.say(TURNED, turn=stage.turn)
    talk.send(b"ping")
    assert caller.read(4) == b"ping"
    return caller


def flooding(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = tunnelling(stage, talk, server)
    fill(stage, talk.socket)
    return caller


def flooded(stage: Stage, talk: Talk, server: Backing) -> Caller:
    caller = tunnelling(stage, talk, server)
    fill(stage, caller.line)
    return caller


def fill(stage: Stage, line: socket.socket) -> None:
    """Send until the gateway takes in no more. Not further: an end behind a wall of bytes that
    nobody reads is not to be seen by anybody.
    """
    while not stage.full():
        line.sendall(FLOOD)
        stage.turn()


SCENES = {
    "before it has said anything": Scene(silent, Held(1)),
    "in the middle of a head": Scene(half, Held(1)),
    "while it waits for an answer": Scene(waiting, Held(1, 1, 1)),
    "after a hint": Scene(hinted, Held(1, 1, 1)),
    "with more requests in line": Scene(pipelining, Held(1, 1, 1)),
    "with too many requests in line": Scene(crowding, Held(1, 1, 1), paused=True),
    "in the middle of its body": Scene(uploading, Held(1, 1, 1)),
    "while its server takes in nothing": Scene(stuffing, Held(1, 1, 1), paused=True),
    "in the middle of an answer": Scene(downloading, Held(1, 1, 1)),
    "in the middle of a long answer": Scene(carrying, Held(1, 1, 1)),
    "while it takes in nothing": Scene(clogging, Held(1, 1, 1)),
    "in the middle of an answer to half a request": Scene(early, Held(1, 1, 1)),
    "in a tunnel": Scene(tunnelling, Held(1, 1, 1)),
    "in a tunnel that takes in nothing": Scene(flooding, Held(1, 1, 1), paused=True),
    "in a tunnel out of which nothing is taken": Scene(flooded, Held(1, 1, 1)),
}


def leave(talk: Talk, abrupt: bool) -> None:
    if abrupt:
        talk.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
    talk.socket.close()


def look(stage: Stage, clients: int) -> None:
    """Have the gateway look who is left; the machine may take a moment to tell it."""

    def looked() -> bool:
        stage.tick()
        return stage.held().clients == clients

    until(looked, "it to be noticed that a client has left")


@pytest.mark.parametrize("abrupt", [False, True], ids=["hangs up", "resets"])
@pytest.mark.parametrize("scene", SCENES.values(), ids=[*SCENES])
def test_a_client_may_leave_at_any_time(scene: Scene, abrupt: bool, server: Backing) -> None:
    """No time passes: nobody waits for anything but the client's own going."""
    with Stage(plan(server.url)) as stage:
        with stage.talk() as talk:
            caller = scene.play(stage, talk, server)
            stage.rest(**scene.held._asdict())
            leave(talk, abrupt)
            if scene.paused:
                look(stage, 0)
            stage.rest()
            if caller is not None:
                caller.ended()
        # Whoever comes next finds everything in order.
        with stage.talk() as talk:
            assert served(talk, server).body == b"fine"


@pytest.mark.parametrize("abrupt", [False, True], ids=["hangs up", "resets"])
def test_a_client_may_leave_while_its_server_is_reached(abrupt: bool, server: Backing) -> None:
    # It is connected, but never speaks TLS, so that the gateway has not reached it yet.
    rules = plan(server.url.replace("http", "https"))
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(GET)
        caller = server.take()
        caller.more()
        stage.rest(clients=1, busy=1, places=1, errands=1)
        leave(talk, abrupt)
        stage.rest()
        caller.ended()


PACE = {"name": "pace", "limit": {"rate": "1/h", "burst": 1}, "over": "wait 2h"}
NARROW = {"name": "narrow", "concurrent": 1, "over": "wait 2h"}


@pytest.mark.parametrize("abrupt", [False, True], ids=["hangs up", "resets"])
@pytest.mark.parametrize("body", [b"", b"x" * 200_000], ids=["", "body"])
@pytest.mark.parametrize("rule", [PACE, NARROW], ids=["limit", "place"])
def test_a_client_may_leave_while_a_rule_makes_it_wait(
    rule: dict[str, Any], body: bytes, abrupt: bool, server: Backing
) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n" % len(body)
    request = head + body
    with Stage(plan(server.url, rules=[rule]), clock=Leap()) as stage, stage.talk() as first:
        asked(first, server)
        before = stage.held()
        with stage.talk() as talk:
            talk.send(request)
            stage.rest(**before._replace(clients=2, errands=1)._asdict())
            leave(talk, abrupt)
            if body:
                # Nothing is read of it yet.
                look(stage, 1)
            stage.rest(**before._asdict())
        # What was booked is given back: nobody else waits for who has left.
        ruling = stage.gateway.keeper.lodge.book.rulings[0]
        lane = ruling.lane("", "")
        assert lane is not None
        assert lane.bulkhead is None or not lane.bulkhead.waiting()
        assert lane.limiter is None or lane.limiter.peek("").retry_after < 3601.0


@pytest.mark.parametrize("abrupt", [False, True], ids=["hangs up", "resets"])
@pytest.mark.parametrize("complete", [False, True], ids=["more to come", "all there"])
def test_a_client_may_leave_while_its_answer_is_held_back(
    complete: bool, abrupt: bool, server: Backing
) -> None:
    slow = {"name": "slow", "bandwidth": "1KB/h"}
    rules = plan(server.url, rules=[ROOM, slow])
    with Stage(rules, clock=Leap()) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        size = 100_000 if complete else 100_001
        caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * 100_000)
        talk.receive()
        stage.rest(clients=1, busy=0 if complete else 1, places=1, errands=1)
        leave(talk, abrupt)
        stage.rest()
        if not complete:
            caller.ended()


def test_who_hangs_up_while_nothing_is_read_is_noticed_at_the_next_tick(server: Backing) -> None:
    with Stage(plan(server.url), clock=None) as stage, stage.talk() as talk:
        stuffing(stage, talk, server)
        talk.socket.close()

        # Nobody does anything but wait for the gateway's own tick.
        stage.rest()
