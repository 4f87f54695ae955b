"""A conversation with HAProxy: how it begins, how it ends, and what comes between in any pieces."""

from __future__ import annotations

import asyncio
import random
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ManualClock
from headgate.rules import Rules
from headgate.service.hall import Hall
from headgate.service.spop import agent as module
from headgate.service.spop import frames
from headgate.service.spop.agent import Agent
from headgate.wire.pipe import Pipe
from headgate.wire.wheel import Wheel
from tests.service.spop.serving import Serving
from tests.service.spop.speaking import (
    GREETING,
    RULES,
    SECOND,
    WELCOME,
    Talk,
    awaited,
    bye,
    greeting,
    hall,
    heard,
    message,
    notify,
    parting,
    told,
    turns,
)

HELLO: dict[str, Any] = {
    "supported_versions": "2.0",
    "max_frame_size": 16380,
    "capabilities": "pipelining",
}
ASKS = notify(message(path="/api/", src="192.0.2.7"))
CALLERS = """\
version: 1
rules: [{name: all, limit: 2/min}]
service: {callers: {edge: {token: "a-secret-of-edge-0123456789"}}}
"""
# What an agent says to what it does not understand.
WRONG = [
    ({**HELLO, "supported_versions": "1.5, 3.0"}, 8, "this is an agent of version 2.0"),
    ({**HELLO, "supported_versions": ""}, 8, "this is an agent of version 2.0"),
    ({**HELLO, "supported_versions": "22.0"}, 8, "this is an agent of version 2.0"),
    ({**HELLO, "supported_versions": 2}, 5, "a greeting names no version"),
    ({"max_frame_size": 16380, "capabilities": ""}, 5, "a greeting names no version"),
    ({"supported_versions": "2.0", "capabilities": ""}, 6, "a greeting has no max-frame-size"),
    ({**HELLO, "max_frame_size": "large"}, 6, "a greeting has no max-frame-size"),
    ({**HELLO, "max_frame_size": True}, 6, "a greeting has no max-frame-size"),
    ({**HELLO, "max_frame_size": 255}, 9, "frames have 256 bytes at the least, and not 255"),
    ({**HELLO, "max_frame_size": -1}, 9, "frames have 256 bytes at the least, and not -1"),
    (
        {"supported_versions": "2.0", "max_frame_size": 16380},
        7,
        "a greeting names no capabilities",
    ),
]


@pytest.mark.parametrize("versions", ["2.0", "1.0, 2.0", "2.1", " 2.0 "])
def test_it_greets_whoever_speaks_its_version(versions: str) -> None:
    talk = Talk(hall())

    found = talk.say(greeting(**{**HELLO, "supported_versions": versions}))

    assert found == heard(WELCOME)
    assert not talk.line.over


@pytest.mark.parametrize(("told", "status", "said"), WRONG)
def test_it_says_what_is_wrong_with_a_greeting(
    told: dict[str, Any], status: int, said: str
) -> None:
    talk = Talk(hall())

    assert talk.say(greeting(**told)) == [bye(status, said)]
    assert talk.line.over


@pytest.mark.parametrize(
    ("theirs", "agreed"), [(256, 256), (16380, 16380), (1 << 21, 1 << 20), ((1 << 32) - 1, 1 << 20)]
)
def test_frames_are_as_long_as_both_can_bear(theirs: int, agreed: int) -> None:
    talk = Talk(hall())

    talk.say(greeting(**{**HELLO, "max_frame_size": theirs}))

    assert talk.agent.longest == agreed


def test_frames_are_no_longer_than_the_rules_say() -> None:
    talk = Talk(hall())
    talk.hall.house.body = 1000

    assert talk.say(GREETING) == heard(frames.hello(1000))
    talk.say(notify(message(path="/" + "a" * 940)))
    assert talk.say(notify(message(path="/" + "a" * 1000))) == [
        bye(3, "a frame has 1023 bytes, and 1000 are the most")
    ]


def test_a_health_check_is_answered_and_that_is_all() -> None:
    talk = Talk(hall())

    assert talk.say(greeting(**{**HELLO, "healthcheck": True})) == heard(WELCOME)
    assert talk.line.over
    assert talk.say(ASKS) == []


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (ASKS, 4, "a frame of kind 3 has no place here"),
        (frames.frame(0, b"\0\0", b""), 4, "a frame of kind 0 has no place here"),
        (frames.frame(101, b"\0\0", b""), 4, "a frame of kind 101 has no place here"),
        (frames.frame(1, b"\0\1", b""), 4, "a frame of kind 1 has no place here"),
        (b"\0\0\0\7\1\0\0\0\0\0\0", 10, "frames are taken whole, and not in parts"),
        (b"\0\0\0\0", 4, "a frame of 0 bytes has no head"),
        (b"\0\0\4\1", 3, "a frame has 1025 bytes, and 1024 are the most"),
        (
            b"GET / HTTP/1.1\r\n",
            3,
            "a frame has 1195725856 bytes, and 1024 are the most",
        ),
        (frames.frame(1, b"\0\0", b"\3abc"), 4, "a frame ends too soon"),
    ],
)
def test_who_does_not_greet_is_hung_up_on(
    said: bytes, status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(hall())

    assert talk.say(said) == [bye(status, words)]
    assert talk.line.over
    assert caplog.messages == [f"HAProxy at 192.0.2.1 is hung up on: {words}"]


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (GREETING, 4, "a frame of kind 1 has no place here"),
        (frames.frame(0, b"\7\1", b""), 4, "a frame of kind 0 has no place here"),
        (b"\0\0\0\7\3\0\0\0\0\7\1", 10, "frames are taken whole, and not in parts"),
        (b"\0\0\x3f\xfd", 3, "a frame has 16381 bytes, and 16380 are the most"),
        (notify(b"\5check\2\4path\x0a"), 4, "there is no type 10"),
        (notify(b"\5check"), 4, "a frame ends too soon"),
    ],
)
def test_who_says_what_has_no_place_is_hung_up_on(said: bytes, status: int, words: str) -> None:
    talk = Talk(hall()).greet()

    # What was right before it is answered.
    [answer, last] = talk.say(ASKS, said, ASKS)

    assert answer[:2] == (frames.ACK, b"\7\1")
    assert last == bye(status, words)
    assert talk.line.over
    assert talk.hall.asked == 1


def test_a_farewell_is_answered() -> None:
    talk = Talk(hall()).greet()

    assert talk.say(parting(2, "timed out")) == [bye(0, "goodbye")]
    assert talk.line.over


def test_over_tls_nobody_listens_after_a_farewell() -> None:
    talk = Talk(hall(), ends=False).greet()

    talk.say(parting())

    assert talk.line.told[-1] == "close"


def test_questions_that_come_at_once_are_answered_at_once() -> None:
    talk = Talk(hall()).greet()
    marks = [bytes([stream, 1]) for stream in range(20)]
    asks = [notify(message(path="/api/", src="192.0.2.7"), mark=mark) for mark in marks]

    talk.agent.data_received(b"".join(asks))

    [written] = talk.line.written
    found = heard(written)
    assert [mark for _, mark, _ in found] == marks
    assert [said["limited"] for _, _, said in found] == [False] * 3 + [True] * 17


# The same answers every time.
WHOLE = (
    GREETING
    + notify(message(path="/", src="::1"), message(path="/", headers=b"\4host\1a\0\0"))
    + notify(message(path="/.."), mark=b"\xf0\1\1")
    + parting()
)


def test_a_conversation_may_be_cut_anywhere() -> None:
    room = hall()
    whole = Talk(room).say(WHOLE)

    for place in range(1, len(WHOLE)):
        talk = Talk(room)
        talk.agent.data_received(WHOLE[:place])
        talk.agent.data_received(memoryview(WHOLE)[place:])
        assert talk.heard() == whole
    assert [kind for kind, _, _ in whole] == [101, 103, 103, 102]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 50])
def test_a_conversation_may_come_in_small_pieces(size: int) -> None:
    room = hall()
    talk = Talk(room)

    for place in range(0, len(WHOLE), size):
        talk.agent.data_received(WHOLE[place : place + size])

    assert talk.heard() == Talk(room).say(WHOLE)


@pytest.fixture(scope="module")
def room() -> Hall:
    """A hall where nothing is counted."""
    return hall()


@given(pieces=st.lists(st.binary(max_size=40), max_size=8), greeted=st.booleans())
def test_garbage_is_answered_or_waited_for(room: Hall, pieces: list[bytes], greeted: bool) -> None:
    talk = Talk(room)
    if greeted:
        talk.greet()

    for piece in pieces:
        talk.agent.data_received(piece)

    assert {kind for kind, _, _ in talk.heard()} <= {101, 102, 103}
    assert sum(map(len, talk.agent.held)) <= sum(map(len, pieces))
    talk.agent.connection_lost(None)


@given(
    payload=st.binary(max_size=60),
    kind=st.sampled_from([1, 2, 3, 4, 103]),
    greeted=st.booleans(),
)
def test_frames_of_garbage_are_answered(
    room: Hall, payload: bytes, kind: int, greeted: bool
) -> None:
    talk = Talk(room)
    if greeted:
        talk.greet()

    assert talk.say(frames.frame(kind, b"\0\0", payload))
    talk.agent.connection_lost(None)


def test_a_thousand_who_talk_garbage_are_hung_up_on_and_nobody_else_notices() -> None:
    luck = random.Random(7)
    room = hall()
    good = Talk(room).greet()
    others = [Talk(room) for _ in range(1000)]

    for other in others:
        other.agent.data_received(b"\xff" + luck.randbytes(luck.randrange(3, 2000)))
    assert len(room.guests) == 1001
    assert [kind for other in others for kind, _, _ in other.heard()] == [102] * 1000
    for other in others:
        other.agent.connection_lost(None)

    assert good.ask(path="/api/", src="192.0.2.7")["remaining"] == 2
    assert room.guests == {good.agent}


@awaited
async def test_who_has_to_wait_does_not_hold_up_the_rest() -> None:
    talk = Talk(hall(clock=ManualClock())).greet()
    slow = [notify(message(path="/slow"), mark=bytes([1, number])) for number in (1, 2)]
    talk.agent.data_received(slow[0])
    await turns()
    talk.heard()

    talk.agent.data_received(slow[1] + notify(message(path="/api/"), mark=b"\2\1"))

    [(_, mark, _)] = talk.heard()
    assert mark == b"\2\1"
    assert talk.agent.busy
    assert talk.agent.deadline == 0
    await turns()
    [(_, mark, said)] = talk.heard()
    assert (mark, said["limited"], said["rule"]) == (b"\1\2", False, "slow")
    assert not talk.agent.busy


@awaited
async def test_a_round_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUND", 8)
    talk = Talk(hall()).greet()

    talk.agent.data_received(ASKS * 20 + ASKS[:9])

    assert len(talk.heard()) == 8
    assert talk.line.told[-1] == "pause_reading"
    await turns()
    assert len(talk.heard()) == 12
    assert talk.line.told[-1] == "resume_reading"
    assert len(talk.say(ASKS[9:])) == 1


@awaited
async def test_so_many_may_be_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNDERWAY", 3)
    talk = Talk(hall(clock=ManualClock())).greet()

    talk.agent.data_received(notify(message(path="/slow")) * 8)

    assert len(talk.agent.tasks) == 3
    assert talk.line.told == ["pause_reading"]
    await turns(100)
    assert len(talk.heard()) == 8
    assert talk.line.told[-1] == "resume_reading"


@pytest.mark.parametrize(
    ("said", "patience", "last"),
    [
        (b"", 10, bye(2, "a frame took too long")),
        (GREETING[:9], 10, bye(2, "a frame took too long")),
        (GREETING, 600, bye(0, "nothing was asked for so long")),
        (GREETING + ASKS[:9], 10, bye(2, "a frame took too long")),
    ],
)
def test_nobody_is_waited_for_for_ever(said: bytes, patience: int, last: Any) -> None:
    talk = Talk(hall())
    if said:
        talk.say(said)

    talk.hall.sweep(patience * SECOND - 1)
    assert talk.heard() == []
    talk.hall.sweep(patience * SECOND)

    assert talk.heard() == [last]
    # Whoever does not hang up is cut.
    talk.hall.sweep(patience * SECOND + talk.hall.house.until_closed)
    assert talk.line.told[-1] == "abort"


def test_a_frame_is_not_waited_for_longer_because_it_comes_slowly() -> None:
    talk = Talk(hall()).greet()

    for second in range(9):
        talk.hall.house.now = second * SECOND
        talk.say(ASKS[second : second + 1])

    assert talk.agent.deadline == 10 * SECOND


def test_each_frame_has_a_time_of_its_own_although_all_come_in_halves() -> None:
    talk = Talk(hall()).greet()
    half = len(ASKS) // 2
    talk.say(ASKS[:half])

    for second in range(1, 30):
        talk.hall.house.now = second * SECOND
        talk.hall.sweep(talk.hall.house.now)
        assert len(talk.say(ASKS[half:] + ASKS[:half])) == 1

    assert not talk.line.over
    assert talk.agent.deadline == 39 * SECOND


def test_who_takes_nothing_in_is_not_listened_to() -> None:
    talk = Talk(hall()).greet()

    talk.agent.pause_writing()
    assert talk.line.told == ["pause_reading"]
    assert talk.agent.deadline == 60 * SECOND
    talk.agent.resume_writing()
    assert talk.line.told == ["pause_reading", "resume_reading"]
    assert talk.agent.deadline == 600 * SECOND
    talk.agent.pause_writing()
    talk.hall.sweep(60 * SECOND)
    assert talk.line.told[-1] == "abort"


def test_it_takes_leave_when_nothing_is_under_way() -> None:
    talk = Talk(hall()).greet()

    talk.hall.retire()

    assert talk.heard() == [bye(0, "the service ends")]
    assert talk.line.over


def test_what_has_come_is_answered_before_it_takes_leave() -> None:
    def leave() -> None:
        # Nobody reads this before it is time to go.
        line.sendall(ASKS * 3)
        serving.hall.retire()

    with (
        Serving(RULES) as serving,
        socket.create_connection(("127.0.0.1", serving.port), 10) as line,
    ):
        line.sendall(GREETING)
        line.recv(len(WELCOME), socket.MSG_WAITALL)
        serving.run(leave)

        said = heard(b"".join(iter(lambda: line.recv(65_536), b"")))

    assert [kind for kind, _, _ in said] == [103] * 3 + [102]


@awaited
async def test_it_takes_leave_when_all_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUND", 2)
    talk = Talk(hall(clock=ManualClock())).greet()
    talk.agent.data_received(notify(message(path="/slow")) * 5)

    talk.hall.retire()

    assert talk.heard() == []
    await turns(100)
    assert [kind for kind, _, _ in talk.heard()] == [103] * 5 + [102]
    assert talk.line.over


@awaited
async def test_who_hangs_up_is_not_waited_for() -> None:
    clock = ManualClock()
    talk = Talk(hall(clock=clock)).greet()
    talk.agent.data_received(notify(message(path="/slow")) * 3)

    talk.agent.connection_lost(None)
    await turns(100)

    assert talk.heard() == []
    assert talk.agent.tasks == set()
    assert talk.hall.guests == set()


@awaited
async def test_who_leaves_in_the_middle_is_told_no_more() -> None:
    talk = Talk(hall(clock=ManualClock())).greet()

    found = talk.say(notify(message(path="/slow")) * 3, parting())
    await turns(100)

    assert found == [bye(0, "goodbye")]
    assert talk.heard() == []


def test_who_is_not_known_has_to_go() -> None:
    talk = Talk(hall(CALLERS))

    assert talk.say(GREETING) == [bye(102, "nobody here knows who asks at this port")]
    assert talk.line.over


def test_who_has_to_be_known_from_now_on_has_to_go() -> None:
    talk = Talk(hall()).greet()

    talk.hall.callers.change(told(Rules.read(CALLERS)).callers)

    assert talk.say(ASKS) == [bye(102, "nobody here knows who asks at this port")]


def test_where_all_places_are_taken_nobody_is_let_in() -> None:
    room = hall()
    room.most = 1
    Talk(room)

    assert Talk(room).line.told == ["abort"]
    assert (len(room.guests), room.turned) == (1, 1)


@awaited
async def test_it_talks_over_a_real_connection() -> None:
    loop = asyncio.get_running_loop()
    wheel, room = Wheel(loop), hall()
    theirs, ours = socket.socketpair()
    theirs.setblocking(False)
    ours.setblocking(False)
    Pipe(wheel, ours, Agent(room, type("Port", (), {"caller": ""}), ""))

    async def read(size: int) -> bytes:
        found = b""
        while len(found) < size and (more := await loop.sock_recv(theirs, size - len(found))):
            found += more
        return found

    await loop.sock_sendall(theirs, GREETING)
    assert await read(len(WELCOME)) == WELCOME
    # More than the socket holds, so that both sides have to wait for each other.
    ask, many = notify(message(path="/")), 10_000
    nothing = Talk(room).greet()
    nothing.agent.data_received(ask)
    size = len(nothing.line.take())
    sending = loop.create_task(loop.sock_sendall(theirs, ask * many))
    found = heard(await read(size * many))
    await sending
    assert len(found) == many
    await loop.sock_sendall(theirs, parting())
    last = await read(1 << 16)
    assert heard(last) == [bye(0, "goodbye")]
    theirs.close()
    await turns()
    assert room.guests == {nothing.agent}
    wheel.close()
