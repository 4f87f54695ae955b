"""Messages: whole, in parts, compressed, too large, and none at all."""

from __future__ import annotations

import asyncio
import gzip
import logging
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.grpc.call import Call
from headgate.service.grpc.terms import HOARD
from tests.service.grpc.hosting import BREAK, CHAT, ECHO, NEVER, REFUSE, SLOW, Place
from tests.service.grpc.talking import (
    END,
    RST_STREAM,
    Talk,
    begin,
    call,
    data,
    fine,
    frame,
    message,
    number,
)

BODY = b"hello " * 1000
GZIP = {"grpc_encoding": "gzip"}


def status(stream: int, code: int, words: str) -> str:
    return f"headers {stream} grpc-status={code} grpc-message={words} end"


BAD = {
    "no message": (b"", 13, "a call has one message, and there is none"),
    "half of what comes before one": (b"\0\0\0", 13, "the message is not whole"),
    "half of one": (message(b"hello")[:-1], 13, "the message is not whole"),
    "two": (message(b"a") * 2, 13, "something follows the one message of a call"),
    "one and a byte": (message(b"a") + b"\0", 13, "something follows the one message of a call"),
    "another sign before it": (
        message(b"a", 2),
        13,
        "a message begins with a 0, or with a 1 if it is compressed",
    ),
    "compressed in no way": (
        message(b"a", 1),
        13,
        "a message is compressed, but grpc-encoding does not say how",
    ),
    "too large": (message(bytes(65_537))[:10], 8, "a message has at most 65536 bytes"),
}


@pytest.mark.parametrize(("said", "code", "words"), BAD.values(), ids=BAD)
def test_what_is_not_one_message_is_said_to_be_none(said: bytes, code: int, words: str) -> None:
    with Talk() as talk:
        assert talk.ask(begin(1) + data(1, said)) == [status(1, code, words)]
        parts = [data(3, said[i : i + 1], 0) for i in range(len(said))]
        told = talk.ask(begin(3), *parts, data(3, b""))
        assert told[0] == status(3, code, words)
        assert talk.place.chatter.calls == []


def test_a_message_may_be_as_large_as_is_said() -> None:
    with Talk() as talk:
        talk.send(begin(1))
        body = bytes(65_536)
        said = message(body)
        talk.send(*(data(1, said[i : i + 16_384], 0) for i in range(0, len(said), 16_384)))
        talk.send(data(1, b""))
        assert talk.channel.owed == 65_541 - 65_535
        assert talk.place.chatter.calls[0].metadata("te") == "trailers"


def test_how_large_messages_may_be_is_for_the_service_to_say() -> None:
    place = Place()
    place.methods.most = 4
    with Talk(place) as talk:
        assert talk.ask(call(1, b"four") + call(3, b"fives")) == [
            *fine(1, b"four"),
            status(3, 8, "a message has at most 4 bytes"),
        ]


@pytest.mark.parametrize(
    ("coding", "packed"),
    [("gzip", gzip.compress(BODY)), ("deflate", zlib.compress(BODY))],
    # Bytes tell when they were packed, and all processes of a run have to call a test the same.
    ids=["gzip", "deflate"],
)
def test_a_compressed_message_is_read(coding: str, packed: bytes) -> None:
    with Talk() as talk:
        said = begin(1, grpc_encoding=coding) + data(1, message(packed, 1))
        assert talk.ask(said) == fine(1, BODY)
        # It may also be as it is.
        said = begin(3, grpc_encoding=coding) + data(3, message(b"plain"))
        assert talk.ask(said) == fine(3, b"plain")


PACKED = gzip.compress(BODY)
DAMAGED = {
    "no gzip": b"hello",
    "half of it": PACKED[:-9],
    "without its sum": PACKED[:-1],
    "another sum": PACKED[:-8] + bytes(8),
    "and more": PACKED + b"!",
    "nothing": b"",
}


@pytest.mark.parametrize("packed", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_message_is_said_to_be_one(packed: bytes) -> None:
    with Talk() as talk:
        said = begin(1, grpc_encoding="gzip") + data(1, message(packed, 1))
        assert talk.ask(said) == [status(1, 13, "a compressed message is damaged")]


def test_what_was_small_only_while_it_was_compressed_is_too_large() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    with Talk() as talk:
        talk.send(begin(1, grpc_encoding="gzip"))
        said = message(bomb, 1)
        talk.send(*(data(1, said[i : i + 16_384], 0) for i in range(0, len(said), 16_384)))
        assert talk.ask(data(1, b"")) == [status(1, 8, "a message has at most 65536 bytes")]


def test_another_compression_is_answered_with_those_there_are() -> None:
    with Talk() as talk:
        said = begin(1, grpc_encoding="snappy") + data(1, message(b"a", 1))
        assert talk.ask(said) == [
            "headers 1 grpc-status=12 grpc-message=messages are compressed with gzip or deflate, "
            "or not at all grpc-accept-encoding=identity,gzip,deflate end"
        ]


def test_too_many_halves_of_messages_are_not_kept() -> None:
    with Talk() as talk:
        half = message(bytes(60_000))[:16_384]
        most = HOARD + 65_536
        streams = range(1, 2 * (most // 16_384) + 2, 2)
        told = []
        for stream in streams:
            told += talk.ask(begin(stream) + data(stream, half, 0))
        told = [one for one in told if "window" not in one]
        last = streams[-1]
        assert told == [
            status(last, 8, "too many messages are under way at once"),
            f"reset {last} NO_ERROR",
        ]
        assert talk.channel.hoard == most


def test_a_method_may_end_a_call_with_any_status() -> None:
    with Talk() as talk:
        assert talk.ask(call(1, "grüß % \n".encode(), path=REFUSE)) == [
            status(1, 9, "gr%C3%BC%C3%9F %25 %0A")
        ]
        assert talk.ask(call(3, b"", path=REFUSE)) == ["headers 3 grpc-status=9 end"]
        long = talk.ask(call(5, b"x" * 5000, path=REFUSE))
        assert long == [status(5, 9, "x" * 1024)]


def test_what_fails_in_a_method_is_written_down_and_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Talk() as talk, caplog.at_level(logging.ERROR):
        told = [status(stream, 13, "the method failed") for stream in (1, 3)]

        assert talk.ask(call(1, path=BREAK) + call(3, path=BREAK)) == told
        # Whoever does it again and again does not fill the log.
        assert len(caplog.messages) == 1
        assert caplog.messages[0].startswith(f"{BREAK} failed: Traceback")
        assert "KeyError: 'secret'" in caplog.messages[0]


async def turns() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


def test_an_answer_may_take_a_while() -> None:
    async def main() -> None:
        with Talk() as talk:
            assert talk.ask(call(1, path=SLOW) + call(3, b"bad", path=SLOW)) == []
            assert talk.channel.busy
            assert talk.ask(call(5, b"at once")) == fine(5, b"at once")
            await turns()
            assert talk.said() == [*fine(1), status(3, 9, "not like that")]
            assert not talk.channel.tasks

    asyncio.run(main())


def test_what_fails_later_is_not_told_either(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        place = Place()
        place.methods.unary("/tests.Echo/Odd", lambda message, call: 7)  # type: ignore[arg-type, return-value]
        with Talk(place) as talk:
            talk.send(call(1, b"broken", path=SLOW) + call(3, path="/tests.Echo/Odd"))
            talk.send(call(5, path=NEVER) + call(7, path=NEVER))
            place.chatter.waiting[0].set_result("text")  # type: ignore[arg-type]
            place.chatter.waiting[1].cancel()
            await turns()
            assert sorted(talk.said()) == [
                status(1, 13, "the method failed"),
                status(3, 13, "the method failed"),
                status(5, 13, "the method failed"),
                status(7, 1, "the method was cancelled"),
            ]

    asyncio.run(main())


def test_a_call_that_is_taken_back_is_not_worked_on() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER) + call(3, path=SLOW))
            talk.send(frame(RST_STREAM, 0, 1, number(8)) + frame(RST_STREAM, 0, 3, number(8)))
            assert not talk.channel.busy
            assert talk.place.chatter.calls[0].over
            await turns()
            assert talk.place.chatter.waiting[0].cancelled()
            assert not talk.channel.tasks
            assert talk.said() == []

    asyncio.run(main())


def test_answers_that_come_too_late_go_nowhere() -> None:
    async def main() -> None:
        talk = Talk()
        talk.send(call(1, path=NEVER))
        talk.place.chatter.waiting[0].set_result(b"late")
        talk.channel.connection_lost(None)
        await turns()
        assert talk.said() == []
        assert not talk.channel.tasks

    asyncio.run(main())


def test_what_is_sent_before_an_answer_comes_before_it() -> None:
    place = Place()

    def twice(body: bytes, call: Call) -> bytes:
        call.send(body)
        return body

    place.methods.unary("/tests.Echo/Twice", twice)
    with Talk(place) as talk:
        once = f"data 1 {message(b'hello')!r}"
        wanted = ["headers 1", once, once, "headers 1 grpc-status=0 end"]
        assert talk.ask(call(1, path="/tests.Echo/Twice")) == wanted


def test_a_talk_goes_to_and_fro() -> None:
    with Talk() as talk:
        assert talk.ask(begin(1, CHAT)) == []
        assert talk.ask(data(1, message(b"a") + message(b"b")[:3], 0)) == [
            "headers 1",
            f"data 1 {message(b'a')!r}",
        ]
        assert talk.ask(data(1, message(b"b")[3:], 0)) == [f"data 1 {message(b'b')!r}"]
        assert talk.ask(data(1, b"")) == [
            f"data 1 {message(b'2')!r}",
            "headers 1 grpc-status=0 end",
        ]
        assert talk.place.chatter.told == ["open", "end"]


def test_a_talk_may_be_ended_by_either_side() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        # What follows is not heard.
        assert talk.ask(data(1, message(b"enough") + message(b"more"), 0)) == [
            status(1, 8, "that was enough"),
            "reset 1 NO_ERROR",
        ]
        talk.send(begin(3, CHAT))
        assert talk.ask(data(3, message(b"a") + message(b"bad"), 0)) == [
            "headers 3",
            f"data 3 {message(b'a')!r}",
            status(3, 9, "not like that"),
            "reset 3 NO_ERROR",
        ]
        talk.send(begin(5, CHAT), frame(RST_STREAM, 0, 5, number(8)))
        talk.send(begin(7, CHAT))
        assert talk.ask(data(7, message(b"broken"))) == [status(7, 13, "the method failed")]
        talk.send(begin(9, CHAT))
        assert talk.ask(data(9, b"\0\0")) == [status(9, 13, "the last message is not whole")]
    told = talk.place.chatter.told
    assert told == ["open", "open", "cancel", "open", "cancel", "open", "cancel", "open", "cancel"]


def test_a_talk_that_is_over_hears_and_says_nothing() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT), frame(RST_STREAM, 0, 1, number(8)))
        (told,) = talk.place.chatter.calls
        told.send(b"late")
        told.finish()
        assert told.over
        assert talk.said() == []


def test_a_talk_that_is_not_being_read_sends_at_once() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        (told,) = talk.place.chatter.calls
        told.send(b"news")
        assert talk.said() == ["headers 1", f"data 1 {message(b'news')!r}"]
        told.finish(14, "later")
        assert talk.said() == [status(1, 14, "later"), "reset 1 NO_ERROR"]


def test_messages_of_a_talk_have_a_size_of_their_own() -> None:
    place = Place()
    place.methods.streamed = 4
    with Talk(place) as talk:
        talk.send(begin(1, CHAT, grpc_encoding="gzip"))
        told = talk.ask(data(1, message(b"four") + message(gzip.compress(b"five!"), 1), 0))
        assert told[2] == status(1, 8, "a message has at most 4 bytes")


def test_a_path_is_one() -> None:
    with pytest.raises(ValueError) as caught:
        Place().methods.unary("Echo", lambda message, call: b"")
    assert str(caught.value) == "a path is such as \"/package.Service/Method\", not 'Echo'"


@given(st.binary(max_size=300), st.lists(st.integers(0, 310)))
def test_however_a_message_is_cut_it_is_the_same(body: bytes, places: list[int]) -> None:
    said = message(body)
    cuts = sorted({0, len(said), *(min(place, len(said)) for place in places)})
    parts = [said[a:b] for a, b in pairwise(cuts)]
    with Talk() as talk:
        frames = [data(1, part, 0) for part in parts[:-1]]
        assert talk.ask(begin(1, ECHO) + b"".join(frames) + data(1, parts[-1], END)) == fine(
            1, body
        )
