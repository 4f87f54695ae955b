"""Frames that are in order are answered; each that is not, with the error RFC 9113 has for it."""

from __future__ import annotations

import asyncio

import pytest

from tests.service.grpc.hosting import CHAT, ECHO, NEVER, Place
from tests.service.grpc.talking import (
    CONTINUATION,
    DATA,
    END,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH,
    RST_STREAM,
    SETTINGS,
    WINDOW,
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

PADDED, WEIGHED = 0x8, 0x20
HEADED = block(lines())


def padded(contents: bytes, padding: int) -> bytes:
    return bytes((padding,)) + contents + bytes(padding)


def test_a_call_is_answered_in_one_piece() -> None:
    with Talk() as talk:
        before = talk.line.writes

        assert talk.ask(call(1)) == fine(1)
        assert talk.line.writes == before + 1


def test_calls_that_come_together_are_answered_together() -> None:
    with Talk() as talk:
        before = talk.line.writes

        assert talk.ask(call(1, b"a") + call(3, b"b") + call(5, b"")) == [
            *fine(1, b"a"),
            *fine(3, b"b"),
            *fine(5, b""),
        ]
        assert talk.line.writes == before + 1


def test_the_service_greets_first() -> None:
    with Talk(greeting=b"") as talk:
        assert talk.said() == ["settings", "window 0 983041"]


def test_a_greeting_and_a_call_come_split_at_every_byte() -> None:
    said = PREFACE + settings((3, 10)) + begin(1, CHAT) + data(1, message(b"a") + message(b"b"), 0)
    said += frame(PING, 0, 0, b"12345678") + data(1, message(b"c")) + call(3)
    whole = Talk(greeting=b"")
    whole.send(said)
    wanted = whole.said()
    assert wanted[-3:] == fine(3)

    for place in range(1, len(said)):
        with Talk(greeting=b"") as talk:
            assert talk.ask(said[:place], said[place:]) == wanted
    with Talk(greeting=b"") as talk:
        assert talk.ask(*(said[place : place + 1] for place in range(len(said)))) == wanted
    whole.channel.connection_lost(None)


def test_a_view_is_read_like_bytes() -> None:
    with Talk() as talk:
        lent = bytearray(call(1) + call(3)[:-4])
        talk.channel.data_received(memoryview(lent))
        lent[:] = bytes(len(lent))

        assert talk.ask(call(3)[-4:]) == [*fine(1), *fine(3)]


IN_ORDER = {
    "padded headers": frame(HEADERS, 4 | PADDED, 1, padded(HEADED, 9)) + data(1, message(b"hello")),
    "padded with nothing": frame(HEADERS, 4 | PADDED, 1, padded(HEADED, 0))
    + data(1, message(b"hello")),
    "weighed headers": frame(HEADERS, 4 | WEIGHED, 1, bytes(5) + HEADED)
    + data(1, message(b"hello")),
    "padded and weighed": frame(HEADERS, 4 | PADDED | WEIGHED, 1, padded(bytes(5) + HEADED, 200))
    + data(1, message(b"hello")),
    "padded data": begin(1) + data(1, padded(message(b"hello"), 7), END | PADDED),
    "flags that data does not have": begin(1) + data(1, message(b"hello"), END | 0x66),
    "data in parts": begin(1)
    + b"".join(data(1, message(b"hello")[i : i + 1], 0) for i in range(9))
    + data(1, b"o"),
    "an end of its own": begin(1) + data(1, message(b"hello"), 0) + data(1, b""),
    "an end by trailers": begin(1)
    + data(1, message(b"hello"), 0)
    + frame(HEADERS, 4 | END, 1, block([("a", "b")])),
    "continued headers": frame(HEADERS, 0, 1, HEADED[:10])
    + frame(CONTINUATION, 0, 1, HEADED[10:20])
    + frame(CONTINUATION, 0, 1)
    + frame(CONTINUATION, 4, 1, HEADED[20:])
    + data(1, message(b"hello")),
    "the reserved bit": call(1 | 1 << 31),
    "a priority before": frame(PRIORITY, 0, 1, bytes(5)) + call(1),
    "a kind nobody knows": frame(99, 255, 77, b"?") + call(1),
    "a pong": frame(PING, 1, 0, bytes(8)) + call(1),
    "a length that is right": begin(1, content_length="10") + data(1, message(b"hello")),
    "a length that is right, in parts": begin(1, content_length="10")
    + data(1, message(b"hello")[:4], 0)
    + data(1, message(b"hello")[4:]),
}


@pytest.mark.parametrize("said", IN_ORDER.values(), ids=IN_ORDER)
def test_what_is_in_order_is_answered(said: bytes) -> None:
    with Talk() as talk:
        assert talk.ask(said) == fine(1)
        assert talk.ask(call(3)) == fine(3)


BROKEN = {
    "data on no stream": (data(0, b""), "PROTOCOL_ERROR"),
    "data on an idle stream": (data(1, b""), "PROTOCOL_ERROR"),
    "data on a stream of ours": (data(2, b""), "PROTOCOL_ERROR"),
    "data after the end": (call(1) + data(1, b""), "STREAM_CLOSED"),
    "data after a reset": (
        begin(1) + frame(RST_STREAM, 0, 1, number(8)) + data(1, b""),
        "STREAM_CLOSED",
    ),
    "data on a stream that was left out": (call(3) + data(1, b""), "STREAM_CLOSED"),
    "data that is all padding": (begin(1) + data(1, b"\x01", PADDED), "PROTOCOL_ERROR"),
    "data padded with more": (begin(1) + data(1, b"\x09" + bytes(8), PADDED), "PROTOCOL_ERROR"),
    "data without its padding": (begin(1) + data(1, b"", PADDED), "PROTOCOL_ERROR"),
    "headers on no stream": (begin(0), "PROTOCOL_ERROR"),
    "headers on a stream of ours": (begin(2), "PROTOCOL_ERROR"),
    "headers after the end": (call(1) + begin(1), "STREAM_CLOSED"),
    "headers on a stream that was left out": (call(3) + call(1), "STREAM_CLOSED"),
    "headers padded with more": (frame(HEADERS, 4 | PADDED, 1, b"\x02\x00"), "PROTOCOL_ERROR"),
    "headers too short to be weighed": (frame(HEADERS, 4 | WEIGHED, 1, b"123"), "PROTOCOL_ERROR"),
    "headers nobody can read": (frame(HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), "COMPRESSION_ERROR"),
    "headers out of no table": (frame(HEADERS, 4, 1, b"\xbe"), "COMPRESSION_ERROR"),
    "headers that stop": (frame(HEADERS, 4, 1, b"\x00\x05ab"), "COMPRESSION_ERROR"),
    "a table that is too large": (frame(HEADERS, 4, 1, b"\x3f\xe2\x1f"), "COMPRESSION_ERROR"),
    "headers interrupted": (
        frame(HEADERS, 0, 1, HEADED[:9]) + frame(PING, 0, 0, bytes(8)),
        "PROTOCOL_ERROR",
    ),
    "headers interrupted by an unknown kind": (
        frame(HEADERS, 0, 1, HEADED[:9]) + frame(99),
        "PROTOCOL_ERROR",
    ),
    "headers continued elsewhere": (
        frame(HEADERS, 0, 1, HEADED[:9]) + frame(CONTINUATION, 4, 3, HEADED[9:]),
        "PROTOCOL_ERROR",
    ),
    "nothing continued": (frame(CONTINUATION, 4, 1, HEADED), "PROTOCOL_ERROR"),
    "continued on no stream": (frame(CONTINUATION, 4, 0, HEADED), "PROTOCOL_ERROR"),
    "a priority of no stream": (frame(PRIORITY, 0, 0, bytes(5)), "PROTOCOL_ERROR"),
    "a priority of another size": (frame(PRIORITY, 0, 1, bytes(4)), "FRAME_SIZE_ERROR"),
    "a reset of no stream": (frame(RST_STREAM, 0, 0, number(8)), "PROTOCOL_ERROR"),
    "a reset of an idle stream": (frame(RST_STREAM, 0, 1, number(8)), "PROTOCOL_ERROR"),
    "a reset of a stream of ours": (
        begin(3) + frame(RST_STREAM, 0, 2, number(8)),
        "PROTOCOL_ERROR",
    ),
    "a reset of another size": (begin(1) + frame(RST_STREAM, 0, 1, b"123"), "FRAME_SIZE_ERROR"),
    "settings of a stream": (frame(SETTINGS, 0, 1), "PROTOCOL_ERROR"),
    "settings that are cut": (frame(SETTINGS, 0, 0, bytes(7)), "FRAME_SIZE_ERROR"),
    "settings heard, and more": (frame(SETTINGS, 1, 0, bytes(6)), "FRAME_SIZE_ERROR"),
    "a push that is neither": (settings((2, 2)), "PROTOCOL_ERROR"),
    "a window without measure": (settings((4, 1 << 31)), "FLOW_CONTROL_ERROR"),
    "frames that are too small": (settings((5, 16_383)), "PROTOCOL_ERROR"),
    "frames that are too large": (settings((5, 1 << 24)), "PROTOCOL_ERROR"),
    "settings without end": (settings(*((77, 1) for _ in range(65))), "ENHANCE_YOUR_CALM"),
    "a promise": (frame(PUSH, 4, 1, number(2) + HEADED), "PROTOCOL_ERROR"),
    "a ping of a stream": (frame(PING, 0, 1, bytes(8)), "PROTOCOL_ERROR"),
    "a ping of another size": (frame(PING, 0, 0, bytes(7)), "FRAME_SIZE_ERROR"),
    "a farewell on a stream": (frame(GOAWAY, 0, 1, bytes(8)), "PROTOCOL_ERROR"),
    "a farewell of another size": (frame(GOAWAY, 0, 0, bytes(7)), "FRAME_SIZE_ERROR"),
    "a window of another size": (frame(WINDOW, 0, 0, bytes(3)), "FRAME_SIZE_ERROR"),
    "a window that does not grow": (window(0, 0), "PROTOCOL_ERROR"),
    "a window that grows too much": (window(0, (1 << 31) - 1), "FLOW_CONTROL_ERROR"),
    "a window of an idle stream": (window(1, 1), "PROTOCOL_ERROR"),
    "a frame that is too large": (frame(DATA, 0, 1, bytes(16_385)), "FRAME_SIZE_ERROR"),
    "the head of a frame that is too large": (b"\x00\x40\x01" + bytes(6), "FRAME_SIZE_ERROR"),
}


@pytest.mark.parametrize(("said", "error"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_a_connection_ends_it(said: bytes, error: str) -> None:
    with Talk() as talk:
        told = talk.ask(said)

        assert told[-1].split()[0] == "goaway"
        assert told[-1].split()[2] == error
        assert talk.line.ended
        assert not talk.channel.busy
        # Whatever else comes is not heard.
        assert talk.ask(call(99)) == []


def test_a_farewell_says_which_calls_were_heard() -> None:
    with Talk() as talk:
        assert talk.ask(call(1) + call(7) + data(0, b""))[-1] == "goaway 7 PROTOCOL_ERROR"


SPOILT = {
    "a window that does not grow": (begin(1) + window(1, 0), "PROTOCOL_ERROR"),
    "a window that grows too much": (begin(1) + window(1, (1 << 31) - 1), "FLOW_CONTROL_ERROR"),
    "trailers, and no end": (
        begin(1) + frame(HEADERS, 4, 1, block([("a", "b")])),
        "PROTOCOL_ERROR",
    ),
    "trailers that begin a call": (begin(1) + begin(1, flags=END), "PROTOCOL_ERROR"),
    "trailers with a tie": (
        begin(1) + frame(HEADERS, 4 | END, 1, block([("connection", "b")])),
        "PROTOCOL_ERROR",
    ),
    "more than was said": (
        begin(1, content_length="9") + data(1, message(b"hello")),
        "PROTOCOL_ERROR",
    ),
    "less than was said": (
        begin(1, content_length="11") + data(1, message(b"hello")),
        "PROTOCOL_ERROR",
    ),
    "nothing where something was said": (
        begin(1, content_length="11", flags=END),
        "PROTOCOL_ERROR",
    ),
}


@pytest.mark.parametrize(("said", "error"), SPOILT.values(), ids=SPOILT)
def test_what_spoils_a_call_ends_that_and_no_other(said: bytes, error: str) -> None:
    with Talk() as talk:
        assert talk.ask(said) == [f"reset 1 {error}"]
        assert not talk.channel.busy
        assert talk.ask(call(3)) == fine(3)


def test_what_was_on_its_way_on_a_spoilt_stream_is_let_pass() -> None:
    with Talk() as talk:
        talk.send(begin(1) + window(1, 0))
        talk.said()

        late = data(1, b"late", 0) + window(1, 5) + frame(RST_STREAM, 0, 1, number(8))
        assert talk.ask(late + frame(HEADERS, 5, 1, block([("a", "b")]))) == []
        assert talk.ask(call(3)) == fine(3)


def test_more_than_all_that_was_to_be_said_spoils_a_call_that_waits() -> None:
    async def main() -> None:
        with Talk() as talk:
            assert talk.ask(call(1, path=NEVER)) == []
            assert talk.ask(data(1, b"more")) == ["reset 1 STREAM_CLOSED"]
            assert talk.ask(call(3, path=NEVER)) == []
            assert talk.ask(frame(HEADERS, 5, 3, block([("a", "b")]))) == ["reset 3 STREAM_CLOSED"]
            await asyncio.sleep(0)
            assert all(one.cancelled() for one in talk.place.chatter.waiting)

    asyncio.run(main())


GREETINGS = {
    "HTTP/1.1": b"GET / HTTP/1.1\r\n",
    "another byte at the end": PREFACE[:-1] + b"\r",
    "TLS": b"\x16\x03\x01",
    "no settings": PREFACE + frame(PING, 0, 0, bytes(8)),
    "settings heard first": PREFACE + frame(SETTINGS, 1),
    "a call first": PREFACE + call(1),
}


@pytest.mark.parametrize("said", GREETINGS.values(), ids=GREETINGS)
def test_who_does_not_greet_is_left(said: bytes) -> None:
    with Talk(greeting=b"") as talk:
        assert talk.ask(said)[2:] == ["goaway 0 PROTOCOL_ERROR"]
        assert talk.line.ended


def test_a_ping_is_answered_with_its_own_words() -> None:
    with Talk() as talk:
        assert talk.ask(frame(PING, 0, 0, b"12345678")) == ["pong 12345678"]


def test_a_setting_nobody_knows_is_heard_like_others() -> None:
    with Talk() as talk:
        assert talk.ask(settings((77, 77)) + call(1)) == ["settings heard", *fine(1)]


def test_settings_are_heard_in_turn() -> None:
    with Talk() as talk:
        assert (
            talk.ask(settings() + frame(SETTINGS, 1) + settings((1, 0))) == ["settings heard"] * 2
        )


def test_a_small_table_is_told_that_ours_is_empty_once() -> None:
    with Talk() as talk:
        talk.send(settings((1, 100)))
        talk.said()
        talk.decoder.max_allowed_table_size = 100

        assert talk.ask(call(1) + call(3)) == [*fine(1), *fine(3)]
        talk.decoder.header_table_size = 100
        assert talk.ask(settings((1, 4096)) + call(5))[1:] == fine(5)


def test_calls_beyond_a_thousand_are_refused_until_others_end() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(b"".join(call(1 + 2 * one, path=NEVER) for one in range(1000)))
            assert talk.said() == []
            assert talk.ask(call(2001)) == ["reset 2001 REFUSED_STREAM"]
            talk.place.chatter.waiting[7].set_result(b"done")
            for _ in range(3):
                await asyncio.sleep(0)
            assert talk.said() == fine(15, b"done")
            assert talk.ask(call(2003)) == fine(2003)
            assert len(talk.channel.calls) == 999
        for _ in range(3):
            await asyncio.sleep(0)
        assert not talk.channel.tasks

    asyncio.run(main())


def test_what_ends_before_the_client_has_said_all_is_reset_without_an_error() -> None:
    with Talk() as talk:
        assert talk.ask(begin(1, "/tests.Echo/Nothing")) == [
            "headers 1 grpc-status=12 grpc-message=there is no such method here end",
            "reset 1 NO_ERROR",
        ]
        assert talk.ask(data(1, message(b"late"))) == []


def test_a_guest_that_has_no_place_is_hung_up_on() -> None:
    place = Place()
    place.hall.most = 0
    with Talk(place, greeting=b"") as talk:
        assert talk.line.closed
        assert talk.ask(PREFACE + settings() + call(1, path=ECHO)) == []
