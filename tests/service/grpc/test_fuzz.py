"""Whatever is sent, a connection is answered or ended, and nothing is left of it."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.service.grpc.hosting import BREAK, CHAT, ECHO, GROW, NEVER, REFUSE, SLOW, Place
from tests.service.grpc.talking import (
    CONTINUATION,
    END,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    Talk,
    begin,
    block,
    call,
    data,
    fine,
    frame,
    lines,
    message,
    number,
    settings,
    window,
)

SMALL = st.integers(0, 9)
STREAMS = st.integers(0, 7)
SIZES = st.sampled_from([0, 1, 5, 100, 65_535, 65_536, 1 << 20, (1 << 31) - 1, 1 << 31])
PATHS = st.sampled_from([ECHO, SLOW, NEVER, REFUSE, CHAT, BREAK, "/none", "*"])
BODIES = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=40).map(message),
    st.binary(max_size=40).map(lambda body: message(gzip.compress(body), 1)),
    st.just(message(b"70000")),
)

# Frames that could come from a client, in any order.
LIKELY = st.one_of(
    st.builds(call, STREAMS, st.binary(max_size=20), PATHS),
    st.builds(lambda stream, path, flags: begin(stream, path, flags=flags), STREAMS, PATHS, SMALL),
    st.builds(data, STREAMS, BODIES, st.integers(0, 15)),
    st.builds(window, STREAMS, SIZES),
    st.builds(lambda size: settings((4, size)), SIZES),
    st.builds(lambda size: settings((1, size), (5, size)), SIZES),
    st.builds(lambda stream, code: frame(RST_STREAM, 0, stream, number(code)), STREAMS, SMALL),
    st.builds(lambda flags: frame(PING, flags, 0, b"farewell"), SMALL),
    st.builds(
        lambda stream, cut, flags: (
            frame(HEADERS, 0, stream, block(lines())[:cut])
            + frame(CONTINUATION, flags, stream, block(lines())[cut:])
        ),
        STREAMS,
        st.integers(0, 50),
        SMALL,
    ),
    st.just(frame(GOAWAY, 0, 0, bytes(8))),
)
# The same, but of streams that are there: the next one, or one of those before it.
Spoken = Callable[[int, int], bytes]
ORDERLY: st.SearchStrategy[tuple[bool, Spoken]] = st.one_of(
    st.builds(
        lambda body, path, flags: (
            True,
            lambda new, old: begin(new, path, flags=flags & END) + data(new, body, flags >> 1 & 1),
        ),
        BODIES,
        PATHS,
        st.sampled_from([0, 2, 1]),
    ),
    st.builds(
        lambda body, flags: (False, lambda new, old: data(old, body, flags & END)), BODIES, SMALL
    ),
    st.builds(lambda size: (False, lambda new, old: window(old, size)), SIZES),
    st.builds(lambda size: (False, lambda new, old: window(0, size)), st.integers(1, 1 << 20)),
    st.builds(lambda size: (False, lambda new, old: settings((4, size))), st.integers(0, 1 << 17)),
    st.just((False, lambda new, old: frame(RST_STREAM, 0, old, number(8)))),
)
# Any frames at all.
WILD = st.builds(frame, st.integers(0, 11), st.integers(0, 255), STREAMS, st.binary(max_size=40))
GOOD = (
    call(1) + begin(3, CHAT) + data(3, message(b"a"), 0) + call(5, path=SLOW) + settings((4, 100))
    + window(3, 100) + data(3, message(b"b")) + frame(PING, 0, 0, bytes(8)) + call(7, b"x" * 300)
)  # fmt: skip


async def play(said: list[bytes]) -> None:
    """Say it, with another connection beside, and see that all is as it should be in the end."""
    place = Place()
    loop = asyncio.get_running_loop()
    troubles: list[Any] = []
    loop.set_exception_handler(lambda _, told: troubles.append(told))
    with Talk(place) as other, Talk(place, b"") as talk:
        for one in said:
            talk.send(one)
            await asyncio.sleep(0)
            place.pass_(0.1)
        ended = talk.line.ended
        frames = talk.frames()
        assert frames
        assert ended == any(kind == GOAWAY for kind, _, _, _ in frames) or talk.channel.parting
        assert other.ask(call(1)) == fine(1)
        # Time passes, and everything is over.
        for _ in range(20):
            place.pass_(30)
            await asyncio.sleep(0)
        assert talk.line.closed
    for _ in range(6):
        await asyncio.sleep(0)
    assert not talk.channel.tasks
    assert not place.health._watching
    assert not place.hall.guests
    assert troubles == []


@given(st.lists(LIKELY, max_size=30))
def test_frames_in_any_order(said: list[bytes]) -> None:
    asyncio.run(play([PREFACE + settings(), *said]))


@given(st.lists(st.tuples(ORDERLY, SMALL), max_size=40))
def test_frames_in_a_likely_order(deeds: list[tuple[tuple[bool, Spoken], int]]) -> None:
    said, count = [], 0
    for (opens, speak), which in deeds:
        count += opens
        if count:
            said.append(speak(2 * count - 1, 2 * (which % count) + 1))
    asyncio.run(play([PREFACE + settings(), *said]))


@given(st.lists(st.one_of(WILD, LIKELY), max_size=30))
def test_frames_of_any_kind(said: list[bytes]) -> None:
    asyncio.run(play([PREFACE + settings(), *said]))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind(said: bytes) -> None:
    asyncio.run(play([PREFACE + settings() + said]))
    asyncio.run(play([said]))


@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4),
    st.lists(st.integers(0, len(GOOD)), max_size=3),
)
def test_a_good_conversation_with_a_few_bytes_changed(
    changes: list[tuple[int, int]], places: list[int]
) -> None:
    said = bytearray(GOOD)
    for place, byte in changes:
        said[place] = byte
    cuts = sorted({0, len(said), *places})
    parts = [bytes(said[a:b]) for a, b in pairwise(cuts)]
    asyncio.run(play([PREFACE + settings(), *parts]))


@given(st.binary(max_size=100), st.booleans())
def test_headers_of_any_bytes(said: bytes, whole: bool) -> None:
    frames = [frame(HEADERS, 4 | END, 1, said if whole else block(lines()) + said)]
    asyncio.run(play([PREFACE + settings(), *frames, call(3)]))


@given(st.lists(st.tuples(st.integers(1, 3), SIZES), max_size=20), st.integers(0, 70_000))
def test_no_window_is_ever_exceeded(grown: list[tuple[int, int]], size: int) -> None:
    with Talk(greeting=PREFACE + settings((4, 100))) as talk:
        rooms = {0: 65_535, 1: 100, 3: 100}
        talk.send(call(1, b"%d" % size, path=GROW) + call(3, b"%d" % size, path=GROW))
        for which, more in [(0, 0), *grown]:
            if 0 < more < 1 << 30 and not talk.line.ended:
                stream = (0, 1, 3)[which - 1]
                # What is over may be told of its window all the same.
                rooms[stream] += more
                talk.send(window(stream, more))
            for kind, _, stream, said in talk.frames():
                if kind == 0:
                    rooms[0] -= len(said)
                    rooms[stream] -= len(said)
            assert min(rooms.values()) >= 0
