"""Whoever leaves does so in order: what is under way is answered, and nothing new is taken."""

from __future__ import annotations

import asyncio

from tests.service.grpc.hosting import CHAT, NEVER, Place
from tests.service.grpc.talking import (
    GOAWAY,
    PING,
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

EVERY = (1 << 31) - 1
ASKED = [f"goaway {EVERY} NO_ERROR", "ping farewell"]
HEARD = frame(PING, 1, 0, b"farewell")


async def turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


def test_what_is_under_way_is_answered_and_nothing_else() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER))
            talk.place.hall.retire()
            assert talk.said() == ASKED
            # A client that had not heard of it yet is answered.
            assert talk.ask(call(3)) == fine(3)
            assert talk.ask(call(5, path=NEVER) + HEARD) == ["goaway 5 NO_ERROR"]
            assert talk.ask(call(7) + begin(9) + data(9, b"")) == []
            assert not talk.line.ended
            talk.place.chatter.waiting[0].set_result(b"one")
            await turns()
            assert talk.said() == fine(1, b"one")
            talk.place.chatter.waiting[1].set_result(b"two")
            await turns()
            assert talk.said() == fine(5, b"two")
            assert talk.line.ended

    asyncio.run(main())


def test_who_has_nothing_under_way_leaves_at_once() -> None:
    with Talk() as talk:
        talk.send(call(1))
        talk.said()
        talk.place.hall.retire()
        assert talk.said() == ASKED
        assert talk.ask(HEARD) == ["goaway 1 NO_ERROR"]
        assert talk.line.ended
        assert talk.ask(call(3)) == []


def test_a_client_that_does_not_answer_is_not_waited_for() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER))
            talk.place.hall.retire()
            talk.said()
            talk.place.pass_(1.9)
            assert talk.said() == []
            talk.place.pass_(0.1)
            assert talk.said() == ["goaway 1 NO_ERROR"]
            assert not talk.line.ended

    asyncio.run(main())


def test_talks_are_told_to_go_elsewhere() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT) + data(1, message(b"a"), 0))
        talk.said()
        talk.place.hall.retire()
        assert talk.said() == [
            *ASKED,
            "headers 1 grpc-status=14 grpc-message=the service is leaving end",
            "reset 1 NO_ERROR",
        ]
        assert talk.place.chatter.told == ["open", "cancel"]


GOING = "grpc-status=14 grpc-message=the service is leaving end"


def test_a_talk_that_began_too_late_is_told_as_well() -> None:
    with Talk() as talk:
        talk.place.hall.retire()
        talk.send(begin(1, CHAT))
        assert talk.said() == ASKED
        assert talk.ask(HEARD) == [f"headers 1 {GOING}", "reset 1 NO_ERROR", "goaway 1 NO_ERROR"]
        assert talk.line.ended


def test_a_talk_of_a_client_that_leaves_does_not_hold_the_service_up() -> None:
    with Talk() as talk:
        assert talk.ask(begin(1, CHAT), frame(GOAWAY, 0, 0, bytes(8))) == ["goaway 1 NO_ERROR"]
        talk.send(data(1, message(b"a"), 0))
        assert not talk.line.ended
        talk.place.hall.retire()
        assert talk.said()[-2:] == [f"headers 1 {GOING}", "reset 1 NO_ERROR"]
        assert talk.line.ended


def test_to_retire_twice_is_to_retire() -> None:
    with Talk() as talk:
        talk.channel.retire()
        talk.channel.retire()
        assert talk.said() == ASKED
        talk.send(HEARD)
        talk.channel.retire()
        assert talk.said() == ["goaway 0 NO_ERROR"]


def test_who_has_not_greeted_is_let_go() -> None:
    with Talk(greeting=b"") as talk:
        talk.said()
        talk.place.hall.retire()
        assert talk.said() == ["goaway 0 NO_ERROR"]
        assert talk.line.ended
    talk = Talk(greeting=b"")
    place = Place()
    made = place.channel()
    made.transport = talk.line
    made.retire()
    assert talk.line.closed
    talk.channel.connection_lost(None)


def test_a_client_that_leaves_has_its_answers() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER))
            assert talk.ask(frame(GOAWAY, 0, 0, bytes(8) + b"bye")) == ["goaway 1 NO_ERROR"]
            talk.place.chatter.waiting[0].set_result(b"one")
            await turns()
            assert talk.said() == fine(1, b"one")
            assert talk.line.ended

    asyncio.run(main())


def test_a_client_that_leaves_with_nothing_under_way_is_let_go() -> None:
    with Talk() as talk:
        assert talk.ask(call(1) + frame(GOAWAY, 0, 0, bytes(8))) == [*fine(1), "goaway 1 NO_ERROR"]
        assert talk.line.ended


def test_a_client_that_leaves_and_takes_back_its_calls_is_let_go() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER) + frame(GOAWAY, 0, 0, bytes(8)))
            assert talk.ask(frame(RST_STREAM, 0, 1, number(8))) == ["goaway 1 NO_ERROR"]
            assert talk.line.ended

    asyncio.run(main())


def test_a_last_word_never_names_more_calls_than_the_one_before() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER) + frame(GOAWAY, 0, 0, bytes(8)))
            talk.said()
            assert talk.ask(call(3) + data(0, b"")) == ["goaway 1 PROTOCOL_ERROR"]

    asyncio.run(main())


def test_a_farewell_that_was_not_said_is_not_heard() -> None:
    with Talk() as talk:
        assert talk.ask(HEARD + call(1)) == fine(1)
