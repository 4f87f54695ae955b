"""Whoever does too much of what is of no use is told to calm down, and nobody else suffers."""

from __future__ import annotations

import asyncio

import pytest

from headgate.service.grpc.patience import Patience
from headgate.service.grpc.terms import FUSS, RESETS, SHED
from tests.service.grpc.hosting import CHAT, NEVER, Place
from tests.service.grpc.talking import (
    CONTINUATION,
    END,
    HEADERS,
    PING,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    Talk,
    begin,
    block,
    call,
    data,
    fine,
    frame,
    lines,
    literal,
    message,
    number,
    settings,
    window,
)

CALM = "ENHANCE_YOUR_CALM"
OPENED = begin(1, CHAT)

FLOODS = {
    "pings": (b"", frame(PING, 0, 0, bytes(8))),
    "pongs": (b"", frame(PING, 1, 0, bytes(8))),
    "settings": (b"", settings()),
    "settings heard": (b"", frame(SETTINGS, 1)),
    "priorities": (b"", frame(PRIORITY, 0, 1, bytes(5))),
    "windows": (b"", window(0, 1)),
    "windows of a call": (OPENED, window(1, 1)),
    "windows of calls that are over": (call(1), window(1, 1)),
    "data without data": (OPENED, data(1, b"", 0)),
    "data that is padding": (OPENED, data(1, b"\0", 8)),
    "data of calls that are over": (begin(1, "/tests.Echo/Nothing"), data(1, b"", 0)),
    "resets of calls that are over": (call(1), frame(RST_STREAM, 0, 1, number(8))),
    "kinds nobody knows": (b"", frame(99)),
}


@pytest.mark.parametrize(("before", "said"), FLOODS.values(), ids=FLOODS)
def test_frames_that_bring_nothing_on_are_borne_for_a_while(before: bytes, said: bytes) -> None:
    place = Place()
    with Talk(place) as talk:
        talk.ask(before)
        assert not talk.line.ended
        # A few frames came before.
        told = talk.ask(said * (FUSS[0] - 10))
        assert not talk.line.ended
        told = talk.ask(said * 100)
        assert told[-1].split()[0::2] == ["goaway", CALM]
        assert talk.line.ended
        with Talk(place) as other:
            assert other.ask(call(1)) == fine(1)


def test_who_does_it_now_and_then_may_go_on_for_ever() -> None:
    place = Place()
    with Talk(place) as talk:
        for _ in range(100):
            talk.send(frame(PING, 0, 0, bytes(8)) * FUSS[1])
            place.house.now += 1_000_000
        assert not talk.line.ended


def test_who_calls_may_say_more_besides() -> None:
    with Talk() as talk:
        for stream in range(1, 2 * FUSS[0], 2):
            talk.send(call(stream) + window(0, 10) * (FUSS[2] - 1) + frame(PING, 0, 0, bytes(8)))
        assert not talk.line.ended


def test_changing_all_windows_again_and_again_costs_by_the_call() -> None:
    with Talk() as talk:
        talk.send(b"".join(begin(stream, CHAT) for stream in range(1, 1601, 2)))
        told = talk.ask(b"".join(settings((4, 1000 + one % 2)) for one in range(25)))
        assert told[-1].split()[0::2] == ["goaway", CALM]


def test_rapid_resets_end_the_connection() -> None:
    async def main() -> None:
        place = Place()
        with Talk(place) as talk:
            pairs = [
                call(stream, path=NEVER) + frame(RST_STREAM, 0, stream, number(8))
                for stream in range(1, 2 * RESETS[0] + 1, 2)
            ]
            assert talk.ask(b"".join(pairs)) == []
            last = 2 * RESETS[0] + 1
            said = call(last, path=NEVER) + frame(RST_STREAM, 0, last, number(8))
            assert talk.ask(said) == [f"goaway {last} {CALM}"]
            with Talk(place) as other:
                assert other.ask(call(1)) == fine(1)
            for _ in range(3):
                await asyncio.sleep(0)
            assert not talk.channel.tasks
            assert all(one.cancelled() for one in place.chatter.waiting)

    asyncio.run(main())


PROVOKED = {
    "windows that do not grow": lambda stream: begin(stream) + window(stream, 0),
    "windows that grow too much": lambda stream: begin(stream) + window(stream, (1 << 31) - 1),
    "trailers that are none": lambda stream: begin(stream) + begin(stream),
    "headers that are none": lambda stream: begin(stream, te="gzip", flags=END),
    "more than was said": lambda stream: begin(stream, content_length="1") + data(stream, b"ab"),
}


@pytest.mark.parametrize("provoke", PROVOKED.values(), ids=PROVOKED)
def test_resets_that_we_are_made_to_send_count_as_well(provoke: object) -> None:
    assert callable(provoke)
    with Talk() as talk:
        said = b"".join(provoke(stream) for stream in range(1, 2 * RESETS[0] + 11, 2))
        assert talk.ask(said)[-1].split()[0::2] == ["goaway", CALM]


def test_who_is_answered_may_take_back_as_many() -> None:
    with Talk() as talk:
        for stream in range(1, 8 * RESETS[0], 4):
            talk.send(call(stream) + begin(stream + 2))
            talk.send(frame(RST_STREAM, 0, stream + 2, number(8)))
        assert not talk.line.ended


def test_calls_beyond_a_thousand_that_are_tried_on_and_on_end_the_connection() -> None:
    with Talk() as talk:
        talk.send(b"".join(begin(stream, CHAT) for stream in range(1, 2001, 2)))
        assert talk.said() == []
        told = talk.ask(b"".join(begin(2001 + 2 * one, CHAT) for one in range(1001)))
        assert told[0] == "reset 2001 REFUSED_STREAM"
        assert told[-1].split()[0::2] == ["goaway", CALM]


def test_a_bomb_of_headers_ends_the_connection() -> None:
    with Talk() as talk:
        # One entry of 4,000 bytes, and then only where it is.
        entry = b"\x40\x01a" + b"\x7f\xa1\x1e" + b"x" * 4000
        bomb = entry + b"\xbe" * 16_000
        said = frame(HEADERS, 0, 1, bomb[:16_384]) + frame(CONTINUATION, 4, 1, bomb[16_384:])
        assert talk.ask(said) == [f"goaway 0 {CALM}"]


def test_headers_up_to_a_size_are_read() -> None:
    with Talk() as talk:
        most = 65_536 - sum(len(n) + len(v) + 32 for n, v in lines())
        count = most // 133
        many = block(lines()) + literal(b"a", b"x" * 100) * count
        parts = [many[place : place + 16_384] for place in range(0, len(many), 16_384)]
        said = frame(HEADERS, 0, 1, parts[0])
        said += b"".join(frame(CONTINUATION, 0, 1, part) for part in parts[1:])
        assert talk.ask(said + frame(CONTINUATION, 4, 1) + data(1, message(b"hello"))) == fine(1)
        more = frame(CONTINUATION, 0, 3, literal(b"a", b"x" * 100))
        said = frame(HEADERS, 0, 3, parts[0])
        said += b"".join(frame(CONTINUATION, 0, 3, part) for part in parts[1:])
        assert talk.ask(said + more + frame(CONTINUATION, 4, 3)) == [f"goaway 1 {CALM}"]


def test_headers_that_never_end_are_not_kept() -> None:
    with Talk() as talk:
        said = frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1) * 16
        assert talk.ask(said) == []
        assert talk.ask(frame(CONTINUATION, 0, 1)) == [f"goaway 0 {CALM}"]
    with Talk() as talk:
        said = frame(HEADERS, 0, 1, bytes(16_384)) + frame(CONTINUATION, 0, 1, bytes(16_384)) * 3
        assert talk.ask(said) == []
        assert talk.ask(frame(CONTINUATION, 0, 1, b"1")) == [f"goaway 0 {CALM}"]


def test_streams_that_were_shed_are_remembered_up_to_a_number() -> None:
    with Talk() as talk:
        for stream in range(1, 2 * SHED + 101, 2):
            talk.send(begin(stream, "/tests.Echo/Nothing"))
        assert len(talk.channel.shed) == SHED
        # What comes on those that were forgotten is let pass as well.
        assert talk.ask(data(1, b"late"))[-1].startswith("reset")
        assert not talk.line.ended


def test_patience_is_regained_with_time_and_with_use_and_never_exceeds_its_measure() -> None:
    patience = Patience(10, 2, 3)
    now = 1_000_000_000
    assert patience.bear(10, now, 0)
    assert not patience.bear(1, now, 0)
    assert not patience.bear(1, now + 500_000, 0)
    assert patience.bear(1, now + 1_500_000, 0)
    assert patience.bear(3, now + 1_500_000, 1)
    assert not patience.bear(11, now + 1_000_000_000, 100)
    # A clock that goes back takes nothing away.
    patience = Patience(10, 2, 3)
    assert patience.bear(5, now, 0)
    assert patience.bear(5, now - 1_000_000_000, 0)


def test_headers_of_calls_that_stay_are_kept_up_to_a_bound() -> None:
    with Talk() as talk:
        # One byte for each of 1,500 headers, of a name and a value that came once.
        heavy = block(lines(CHAT)) + b"\xbe" * 1500
        first = frame(HEADERS, 4, 1, block(lines(CHAT)) + b"\x40\x01a\x01b")
        assert talk.ask(first) == []
        told: list[str] = []
        for stream in range(3, 203, 2):
            told += talk.ask(frame(HEADERS, 4, stream, heavy))
        refused = [one for one in told if "grpc-status=8" in one]
        assert 60 < len(refused) < 90
        assert len(talk.channel.calls) == 101 - len(refused)
        # Who says less is heard, and so is who comes when others have gone.
        assert talk.ask(call(203)) == fine(203)
        talk.send(frame(RST_STREAM, 0, 3, number(8)))
        assert talk.ask(frame(HEADERS, 4, 205, heavy)) == []
