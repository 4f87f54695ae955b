"""Whether the service is ready, asked once or watched, as grpc.health.v1 has it."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from tests.service.grpc.hosting import Place
from tests.service.grpc.talking import (
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

CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
SERVING, NOT_SERVING, UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"
RLS = b"envoy.service.ratelimit.v3.RateLimitService"


def asking(name: bytes) -> bytes:
    return b"\x0a" + bytes((len(name),)) + name if name else b""


@pytest.mark.parametrize("name", [b"", b"ratelimit", RLS])
def test_a_service_is_well_when_it_is_ready(name: bytes) -> None:
    with Talk() as talk:
        assert talk.ask(call(1, asking(name), path=CHECK)) == fine(1, SERVING)
        talk.place.ready = False
        assert talk.ask(call(3, asking(name), path=CHECK)) == fine(3, NOT_SERVING)


def test_a_service_that_is_not_there_is_not_found() -> None:
    with Talk() as talk:
        assert talk.ask(call(1, asking(b"other"), path=CHECK)) == [
            "headers 1 grpc-status=5 grpc-message=nothing here is called 'other' end"
        ]


WORDS = {
    "fields of all kinds besides": b"\x10\x96\x01" + b"\x19" + bytes(8) + b"\x25" + bytes(4),
    "another string besides": b"\x1a\x02hi",
    "said twice": asking(b"other"),
}


@pytest.mark.parametrize("before", WORDS.values(), ids=WORDS)
def test_what_else_is_said_does_not_matter(before: bytes) -> None:
    with Talk() as talk:
        assert talk.ask(call(1, before + asking(b"ratelimit"), path=CHECK)) == fine(1, SERVING)


GARBAGE = [b"\x0a", b"\x0a\x05abc", b"\x0b", b"\xff" * 20, b"\x0a\x01\xff", b"\x19abc"]


@pytest.mark.parametrize("said", GARBAGE)
def test_what_is_no_question_is_said_to_be_none(said: bytes) -> None:
    with Talk() as talk:
        assert talk.ask(call(1, said, path=CHECK)) == [
            "headers 1 grpc-status=3 grpc-message=the message is no HealthCheckRequest end"
        ]


def test_who_watches_is_told_when_it_changes() -> None:
    place = Place()
    with Talk(place) as talk:
        said = begin(1, WATCH) + data(1, message(asking(b"ratelimit")))
        assert talk.ask(said) == ["headers 1", f"data 1 {message(SERVING)!r}"]
        place.health.look()
        assert talk.said() == []
        place.ready = False
        place.health.look()
        place.health.look()
        assert talk.said() == [f"data 1 {message(NOT_SERVING)!r}"]
        talk.send(frame(RST_STREAM, 0, 1, number(8)))
        place.ready = True
        place.health.look()
        assert talk.said() == []
        assert place.health._watching == {}


def test_who_watches_what_is_not_there_is_told_so_and_may_stay() -> None:
    with Talk() as talk:
        said = begin(1, WATCH) + data(1, message(asking(b"other")), 0)
        assert talk.ask(said) == ["headers 1", f"data 1 {message(UNKNOWN)!r}"]
        assert talk.channel.busy
        assert talk.ask(data(1, message(b""))) == [
            "headers 1 grpc-status=13 grpc-message=one service is watched in a call end"
        ]
        assert talk.place.health._watching == {}


def test_who_begins_to_watch_costs_nothing_of_those_who_do_already() -> None:
    place = Place()
    with Talk(place) as one, Talk(place) as other:
        one.ask(begin(1, WATCH) + data(1, message(b""), 0))
        place.ready = False
        told = other.ask(begin(1, WATCH) + data(1, message(b""), 0))
        assert told == ["headers 1", f"data 1 {message(NOT_SERVING)!r}"]
        # The others hear of it when all are told.
        assert one.said() == []
        place.health.look()
        assert (one.said(), other.said()) == ([f"data 1 {message(NOT_SERVING)!r}"], [])


def test_however_long_a_name_is_it_is_not_kept() -> None:
    size = 100_000
    name = b"\x0a\xa0\x8d\x06" + bytes(size)
    with Talk() as talk:
        talk.ask(begin(1, WATCH) + data(1, message(b""), 0))
        tracemalloc.start()
        for stream in range(3, 43, 2):
            said = message(name)
            parts = [said[at : at + 16_000] for at in range(0, len(said), 16_000)]
            told = talk.ask(begin(stream, WATCH), *(data(stream, part, 0) for part in parts))
            assert f"data {stream} {message(UNKNOWN)!r}" in told
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert held < 5 * size


def test_what_has_to_be_asked_elsewhere_is_waited_for() -> None:
    async def main() -> None:
        place = Place()
        asked: list[asyncio.Future[bool]] = []

        def ready() -> asyncio.Future[bool]:
            asked.append(asyncio.get_running_loop().create_future())
            return asked[-1]

        place.hall.things["ready"] = ready
        with Talk(place) as talk:
            assert talk.ask(call(1, b"", path=CHECK)) == []
            asked.pop().set_result(False)
            await turns()
            assert talk.said() == fine(1, NOT_SERVING)

            assert talk.ask(begin(3, WATCH) + data(3, message(b""))) == []
            # It is asked once, however often it is looked at and by however many.
            talk.send(begin(5, WATCH) + data(5, message(asking(b"other"))))
            place.health.look()
            asked.pop().set_result(True)
            assert asked == []
            await turns()
            assert talk.said() == [
                *("headers 3", f"data 3 {message(SERVING)!r}"),
                *("headers 5", f"data 5 {message(UNKNOWN)!r}"),
            ]
            # What could not be found out changes nothing, and is asked again.
            place.health.look()
            asked.pop().cancel()
            await turns()
            place.health.look()
            asked.pop().set_exception(OSError())
            await turns()
            assert talk.said() == []
            place.health.look()
            asked.pop().set_result(False)
            await turns()
            assert talk.said() == [f"data 3 {message(NOT_SERVING)!r}"]
        place.health.look()
        assert asked == []

    asyncio.run(main())


async def turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


def test_who_hangs_up_watches_no_more() -> None:
    with Talk() as talk:
        talk.send(begin(1, WATCH) + data(1, message(b"")))
        assert len(talk.place.health._watching) == 1
    assert talk.place.health._watching == {}
