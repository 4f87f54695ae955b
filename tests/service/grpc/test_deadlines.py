"""Who says nothing, stops in the middle, or takes nothing in, is not waited for."""

from __future__ import annotations

import asyncio

import pytest

from headgate.service.grpc.terms import LAG
from headgate.service.service import TICK
from tests.service.grpc.hosting import CHAT, GROW, NEVER, Place
from tests.service.grpc.talking import (
    CONTINUATION,
    HEADERS,
    PING,
    PREFACE,
    Talk,
    begin,
    block,
    call,
    data,
    fine,
    frame,
    lines,
    message,
    settings,
    window,
)

# How long each is waited for, in seconds, as the place has it.
HEAD, BODY, IDLE, SENT, CLOSED = 5, 10, 60, 20, 2
LATE = "grpc-status=4 grpc-message=the message did not come in time end"
OVER = "grpc-status=4 grpc-message=the deadline is over end"
FAREWELL = [f"goaway {(1 << 31) - 1} NO_ERROR", "ping farewell"]


@pytest.mark.parametrize("said", [b"", PREFACE[:20], PREFACE, PREFACE + settings()[:5]])
def test_who_does_not_greet_in_time_is_cut(said: bytes) -> None:
    with Talk(greeting=b"") as talk:
        talk.send(said)
        talk.place.pass_(HEAD - 0.1)
        assert not talk.line.closed
        talk.place.pass_(0.1)
        assert talk.line.closed


@pytest.mark.parametrize(
    "said",
    [b"\0", call(1)[:-1], call(1) + b"\0\0", frame(HEADERS, 0, 1, block(lines())[:9])],
)
def test_who_stops_in_the_middle_of_a_frame_is_cut(said: bytes) -> None:
    with Talk() as talk:
        talk.place.pass_(1)
        talk.send(said)
        talk.place.pass_(HEAD - 0.1)
        assert not talk.line.closed
        talk.place.pass_(0.1)
        assert talk.line.closed


def test_a_frame_that_comes_byte_by_byte_has_so_long_as_a_whole() -> None:
    with Talk() as talk:
        for byte in call(1)[:50]:
            talk.send(bytes((byte,)))
            talk.place.pass_(HEAD / 49)
        assert talk.line.closed


def test_headers_in_many_parts_have_so_long_as_a_whole() -> None:
    with Talk() as talk:
        talk.send(frame(HEADERS, 0, 1))
        for _ in range(9):
            talk.place.pass_(HEAD / 10)
            talk.send(frame(CONTINUATION, 0, 1))
        assert not talk.line.closed
        talk.place.pass_(HEAD / 10)
        assert talk.line.closed


def test_who_goes_on_in_time_is_not_cut() -> None:
    with Talk() as talk:
        for stream in range(1, 41, 2):
            said = call(stream)
            talk.send(said[:-3])
            talk.place.pass_(HEAD - 1)
            assert talk.ask(said[-3:]) == fine(stream)
        # Nor is who is always in the middle of something, as long as something comes of it.
        for stream in range(41, 81, 2):
            said = call(stream)
            talk.send(said[-3:] * (stream > 41) + said[:-3])
            talk.place.pass_(HEAD - 1)
        assert not talk.line.closed


def test_a_message_that_does_not_come_is_not_waited_for() -> None:
    with Talk() as talk:
        assert talk.ask(begin(1)) == []
        talk.place.pass_(BODY - 1)
        talk.send(data(1, message(b"hello")[:7], 0))
        talk.place.pass_(BODY - 0.1)
        assert talk.said() == []
        talk.place.pass_(0.1)
        assert talk.said() == [f"headers 1 {LATE}", "reset 1 NO_ERROR"]
        assert talk.ask(call(3)) == fine(3)


def test_a_talk_may_be_silent_but_not_in_the_middle_of_a_message() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        talk.place.pass_(IDLE - 1)
        assert talk.said() == []
        talk.send(data(1, message(b"hello")[:7], 0))
        talk.place.pass_(BODY)
        assert talk.said() == [f"headers 1 {LATE}", "reset 1 NO_ERROR"]
        assert talk.place.chatter.told == ["open", "cancel"]


def test_a_call_ends_when_nobody_waits_for_its_answer_any_more() -> None:
    async def main() -> None:
        with Talk() as talk:
            talk.send(call(1, path=NEVER, grpc_timeout="1500m") + call(3, path=NEVER))
            (told,) = talk.place.chatter.calls
            assert told.deadline == 0
            talk.place.pass_(1.4 + LAG / 1e6)
            assert talk.said() == []
            talk.place.pass_(0.1)
            assert talk.said() == [f"headers 1 {OVER}"]
            await asyncio.sleep(0)
            assert [one.cancelled() for one in talk.place.chatter.waiting] == [True, False]

    asyncio.run(main())


def test_a_short_deadline_is_not_over_when_the_time_is_told_next() -> None:
    async def main() -> None:
        with Talk() as talk:
            # It comes when the time was told a tenth of a second ago, and waits for nothing yet.
            talk.send(call(1, path=NEVER, grpc_timeout="20m"))
            talk.place.pass_(TICK)
            assert talk.said() == []
            talk.place.chatter.waiting[0].set_result(b"hello")
            await asyncio.sleep(0)
            assert talk.said() == fine(1)

    asyncio.run(main())


def test_a_talk_has_a_deadline_too() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT, grpc_timeout="2S"))
        now = talk.place.house.now
        assert talk.place.chatter.calls[0].deadline == now + 2_000_000 + LAG
        talk.place.pass_(2 + LAG / 1e6)
        assert talk.said() == [f"headers 1 {OVER}", "reset 1 NO_ERROR"]
        assert talk.place.chatter.told == ["open", "cancel"]


def test_a_talk_in_which_nothing_is_asked_has_a_deadline_too() -> None:
    class Silent:
        """Says nothing, whatever it hears."""

        def receive(self, message: bytes) -> None: ...
        def end(self) -> None: ...
        def cancel(self) -> None: ...

    place = Place()
    place.methods.stream("/tests.Echo/Silent", lambda call: Silent())
    with Talk(place) as talk:
        assert talk.ask(begin(1, "/tests.Echo/Silent", flags=1, grpc_timeout="2S")) == []
        place.pass_(2 + LAG / 1e6)
        assert talk.said() == [f"headers 1 {OVER}"]


def test_who_calls_nothing_for_long_is_asked_to_leave() -> None:
    with Talk() as talk:
        talk.send(call(1))
        talk.said()
        talk.place.pass_(IDLE / 2)
        # That somebody is there is no reason to stay.
        talk.send(frame(PING, 0, 0, bytes(8)))
        talk.said()
        talk.place.pass_(IDLE / 2)
        assert talk.said() == FAREWELL
        # What was on its way is answered.
        assert talk.ask(call(3) + frame(PING, 1, 0, b"farewell")) == [*fine(3), "goaway 3 NO_ERROR"]
        assert talk.line.ended


def test_who_does_not_even_leave_is_cut() -> None:
    with Talk() as talk:
        talk.place.pass_(IDLE)
        assert talk.said() == FAREWELL
        talk.place.pass_(CLOSED)
        assert talk.said() == ["goaway 0 NO_ERROR"]
        assert talk.line.ended
        assert not talk.line.closed
        talk.place.pass_(CLOSED)
        assert talk.line.closed


def test_who_waits_is_asked_whether_it_is_there() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        for _ in range(3):
            talk.place.pass_(IDLE)
            assert talk.said() == ["ping present?"]
            talk.send(frame(PING, 1, 0, b"present?"))
        talk.place.pass_(IDLE)
        talk.place.pass_(IDLE - 1)
        assert not talk.line.closed
        talk.place.pass_(1)
        assert talk.line.closed


def test_who_takes_nothing_in_is_cut() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        talk.channel.pause_writing()
        talk.place.pass_(SENT - 0.1)
        assert not talk.line.closed
        talk.place.pass_(0.1)
        assert talk.line.closed


def test_a_call_whose_window_stays_shut_is_given_up_alone() -> None:
    with Talk(greeting=PREFACE + settings((4, 10))) as talk:
        talk.send(call(1, b"100", path=GROW))
        talk.said()
        talk.place.pass_(SENT - 1)
        talk.send(window(1, 1))
        talk.said()
        talk.place.pass_(SENT - 1)
        assert talk.said() == []
        talk.place.pass_(1)
        assert talk.said() == ["reset 1 CANCEL"]
        assert talk.ask(call(3)) == fine(3)


def test_who_has_nothing_to_take_in_for_long_has_time_when_there_is_something() -> None:
    with Talk(greeting=PREFACE + settings((4, 7))) as talk:
        talk.send(begin(1, CHAT) + data(1, message(b"hi"), 0))
        assert len(talk.said()) == 2
        talk.place.pass_(SENT + 1)
        talk.place.chatter.calls[0].send(b"ho")
        talk.place.pass_(SENT - 1)
        assert talk.said() == []
        assert talk.ask(window(1, 7)) == [f"data 1 {message(b'ho')!r}"]


def test_who_hears_the_last_word_may_take_a_while_to_take_it_in() -> None:
    with Talk() as talk:
        talk.line.kept = 100
        talk.send(frame(99, 0, 0, bytes(9)) + data(0, b""))
        talk.place.pass_(CLOSED)
        assert not talk.line.closed
        talk.place.pass_(SENT)
        assert talk.line.closed


def test_who_says_no_more_has_nothing_coming() -> None:
    async def main() -> None:
        place = Place()
        with Talk(place) as talk:
            talk.send(call(1, path=NEVER))
            assert talk.channel.eof_received() is False
            assert not talk.channel.busy
            await asyncio.sleep(0)
            assert place.chatter.waiting[0].cancelled()
            place.pass_(SENT)
            assert talk.line.closed

    asyncio.run(main())


def test_without_deadlines_nobody_is_hurried() -> None:
    place = Place()
    house = type(place.house)()
    place.house.until_head = place.house.until_body = house.until_head
    place.house.until_idle = place.house.until_sent = house.until_head
    with Talk(place) as talk:
        talk.send(begin(1) + begin(3, CHAT) + b"\0")
        place.pass_(1e9)
        assert talk.said() == []
        assert not talk.line.closed
