"""Nobody is sent more than they take in, and nobody sends more than was asked for."""

from __future__ import annotations

import pytest

from headgate.service.grpc.terms import OWED, STREAM_WINDOW
from tests.service.grpc.hosting import CHAT, GROW
from tests.service.grpc.talking import (
    DATA,
    END,
    HEADERS,
    PREFACE,
    RST_STREAM,
    Talk,
    begin,
    call,
    data,
    fine,
    frame,
    message,
    number,
    settings,
    window,
)

FLOOD = 70_000


def sizes(talk: Talk) -> list[tuple[int, int]]:
    """The data that was sent: of each frame its stream and size."""
    return [(stream, len(said)) for kind, _, stream, said in talk.frames() if kind == DATA]


def test_a_long_answer_waits_for_its_window() -> None:
    with Talk() as talk:
        talk.send(call(1, b"70000", path=GROW))
        assert sizes(talk) == [(1, 16_384)] * 3 + [(1, 16_383)]
        # The window of the call is not that of the connection.
        assert talk.ask(window(1, 100)) == []
        talk.send(window(0, 60))
        assert sizes(talk) == [(1, 60)]
        talk.send(window(0, 1 << 20))
        assert sizes(talk) == [(1, 40)]
        talk.send(window(1, 1 << 20))
        frames = talk.frames()
        assert len(frames[0][3]) == 70_005 - 65_535 - 100
        assert frames[1][0] == HEADERS
        assert not talk.channel.busy


def test_what_is_answered_is_what_is_sent_however_small_the_windows() -> None:
    with Talk(greeting=PREFACE + settings((4, 1))) as talk:
        body = b"".join(bytes((one,)) for one in range(100))
        talk.send(call(1, body))
        told = talk.frames()
        for _ in range(len(message(body)) - 1):
            assert len(told[-1][3]) == 1
            talk.send(window(1, 1))
            told += talk.frames()
        assert b"".join(said for kind, _, _, said in told if kind == DATA) == message(body)
        assert told[-1][:3] == (HEADERS, 4 | END, 1)


def test_an_empty_window_holds_back_no_status() -> None:
    with Talk(greeting=PREFACE + settings((4, 0))) as talk:
        told = talk.ask(call(1, path="/tests.Echo/Nothing"))
        assert told[0].startswith("headers 1 grpc-status=12")


@pytest.mark.parametrize("later", [65_535, (1 << 31) - 1])
def test_a_window_that_all_calls_get_is_also_that_of_those_under_way(later: int) -> None:
    with Talk(greeting=PREFACE + settings((4, 0))) as talk:
        assert talk.ask(call(1) + call(3)) == ["headers 1", "headers 3"]
        assert talk.ask(settings((4, later))) == [
            *fine(1)[1:],
            *fine(3)[1:],
            "settings heard",
        ]


def test_a_window_can_shrink_below_nothing() -> None:
    with Talk() as talk:
        talk.send(window(0, 1 << 20) + call(1, b"70000", path=GROW))
        assert sum(size for _, size in sizes(talk)) == 65_535
        # What the call may be sent was used up under the old window.
        talk.send(settings((4, 1000)))
        assert talk.said() == ["settings heard"]
        assert talk.ask(window(1, 64_535)) == []
        talk.send(window(1, 1))
        assert sizes(talk) == [(1, 1)]


def test_windows_that_all_grow_too_large_end_the_connection() -> None:
    with Talk() as talk:
        talk.send(begin(1) + window(1, (1 << 31) - 1 - 65_535))
        assert talk.ask(settings((4, 65_536))) == ["goaway 1 FLOW_CONTROL_ERROR"]


def test_larger_frames_are_sent_to_who_takes_them() -> None:
    with Talk(greeting=PREFACE + settings((5, 65_535))) as talk:
        talk.send(call(1, b"60000", path=GROW))
        assert sizes(talk) == [(1, 60_005)]


def test_those_who_wait_take_turns() -> None:
    with Talk(greeting=PREFACE + settings((4, 1 << 20))) as talk:
        talk.send(call(1, b"%d" % FLOOD, path=GROW))
        talk.send(call(3, b"%d" % FLOOD, path=GROW) + call(5, b"%d" % FLOOD, path=GROW))
        talk.said()
        for _ in range(3):
            talk.send(window(0, 10))
        # The first is in the midst of it, and then it is everybody's turn.
        assert {stream for stream, _ in sizes(talk)} == {1, 3, 5}


def test_a_call_that_is_taken_back_gives_its_place_to_others() -> None:
    with Talk(greeting=PREFACE + settings((4, 1 << 20))) as talk:
        talk.send(call(1, b"%d" % FLOOD, path=GROW) + call(3, b"10", path=GROW))
        talk.said()
        talk.send(frame(RST_STREAM, 0, 1, number(8)))
        assert talk.channel.owed == 15
        assert talk.ask(window(0, 100)) == [
            f"data 3 {message(bytes(10))!r}",
            "headers 3 grpc-status=0 end",
        ]


def test_a_client_that_takes_in_nothing_is_owed_so_much_and_no_more() -> None:
    with Talk(greeting=PREFACE + settings((4, 0))) as talk:
        each = OWED // 4
        talk.send(
            b"".join(call(1 + 2 * one, b"%d" % each, path=GROW) for one in range(4)),
        )
        assert talk.channel.owed <= OWED
        assert "reset 7 ENHANCE_YOUR_CALM" in talk.said()
        assert len(talk.channel.calls) == 3


def test_the_client_is_told_to_go_on() -> None:
    with Talk() as talk:
        part = bytes(16_384)
        talk.send(begin(1, CHAT))
        talk.said()
        told = []
        for _ in range(64):
            told += [one for one in talk.ask(data(1, message(part[:-5]), 0)) if "window" in one]
            talk.send(window(1, 16_384), window(0, 16_384))
        # At every half of what it may send.
        assert told == [
            "window 1 65536",
            *["window 1 65536"] * 6,
            "window 0 524288",
            "window 1 65536",
            *["window 1 65536"] * 7,
            "window 0 524288",
            "window 1 65536",
        ]


def test_padding_uses_up_windows_too() -> None:
    with Talk() as talk:
        talk.send(begin(1) + data(1, message(bytes(60_000))[:5], 0))
        padded = bytes((255,)) + b"\0" + bytes(255)
        told = []
        for _ in range(300):
            told += talk.ask(data(1, padded, 8))
        assert told[0] == f"window 1 {5 + 255 * 257}"


def test_more_than_was_asked_for_in_a_call_ends_that() -> None:
    with Talk() as talk:
        talk.send(begin(1, CHAT))
        assert talk.said() == []
        talk.send(b"".join(data(1, bytes(16_384), 0) for _ in range(STREAM_WINDOW // 16_384)))
        assert "window 1 131072" in talk.said()
        talk.send(b"".join(data(1, bytes(16_384), 0) for _ in range(STREAM_WINDOW // 16_384 + 1)))
        assert talk.said()[-1] == "reset 1 FLOW_CONTROL_ERROR"


def test_more_than_was_asked_for_in_all_ends_the_connection() -> None:
    with Talk() as talk:
        said = begin(1, "/tests.Echo/Nothing") + b"".join(
            data(1, bytes(16_384), 0) for _ in range(65)
        )
        assert talk.ask(said)[-1] == "goaway 1 FLOW_CONTROL_ERROR"


def test_who_takes_in_nothing_is_not_read_from() -> None:
    with Talk() as talk:
        talk.channel.pause_writing()
        assert talk.line.paused
        # What was on its way is read all the same, and answered when there is room.
        assert talk.ask(call(1)) == fine(1)[:1]
        assert talk.channel.owed == 10

        talk.channel.resume_writing()
        assert not talk.line.paused
        assert talk.said() == fine(1)[1:]


def test_messages_of_a_talk_wait_too() -> None:
    with Talk(greeting=PREFACE + settings((4, 10))) as talk:
        told = talk.ask(begin(1, CHAT) + data(1, message(b"hello") + message(b"world")))
        assert told == ["headers 1", f"data 1 {message(b'hello')!r}"]
        assert talk.ask(window(1, 100)) == [
            f"data 1 {message(b'world') + message(b'2')!r}",
            "headers 1 grpc-status=0 end",
        ]
