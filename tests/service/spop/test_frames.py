"""The codec: what is written is read again, and what is none of it is a flaw and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from socket import AF_INET6, inet_ntop
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.spop import frames
from headgate.service.spop.asked import listed
from headgate.service.spop.frames import Flaw, Tape, Value
from tests.service.spop.speaking import GREETING, heard, message, notify, parting

# The largest number there is.
TOP = (1 << 64) - 1
LATIN = st.text(st.characters(max_codepoint=255))
TYPED: st.SearchStrategy[tuple[int, Value]] = st.one_of(
    st.tuples(st.just(frames.NULL), st.none()),
    st.tuples(st.just(frames.BOOL), st.booleans()),
    *(
        st.tuples(st.just(kind), st.integers(least, most))
        for kind, (least, most) in frames.RANGES.items()
    ),
    st.tuples(st.just(frames.IPV4), st.ip_addresses(v=4).map(str)),
    st.tuples(
        st.just(frames.IPV6),
        st.binary(min_size=16, max_size=16).map(lambda raw: inet_ntop(AF_INET6, raw)),
    ),
    st.tuples(st.just(frames.STRING), LATIN),
    st.tuples(st.just(frames.BINARY), st.binary()),
)
# The edges of what fits into so many bytes, by the table in HAProxy's SPOE.txt.
NUMBERS = [
    (0, "00"),
    (239, "ef"),
    (240, "f000"),
    (2287, "ff7f"),
    (2288, "f08000"),
    (264431, "ffff7f"),
    (264432, "f0808000"),
    (33818863, "ffffff7f"),
    (33818864, "f080808000"),
    (16380, "fcf006"),
    (TOP, "fff0fefefefefefefe0e"),
]
FLAWED = {
    "ends before its type": (b"", "a frame ends too soon"),
    "has no such type": (b"\x0a", "there is no type 10"),
    "ends within an address": (b"\x06\x7f\0\0", "a frame ends too soon"),
    "ends within a longer address": (b"\x07" + bytes(15), "a frame ends too soon"),
    "ends within a text": (b"\x08\x04abc", "a frame ends too soon"),
    "has a text of any length": (
        b"\x08\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e", "a frame ends too soon",
    ),
    "ends within a number": (b"\x03\xf0\x80", "a frame ends too soon"),
    "has a number that does not end": (b"\x05" + b"\xff" * 20, "a number has more than 64 bits"),
    "has a number that is one too large": (
        b"\x05\xf0\xf1\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e", "a number has more than 64 bits",
    ),
    "has a number too large for its type": (
        b"\x03" + frames.varint(1 << 32), "4294967296 is no number of type 3",
    ),
    "has a number too small for its type": (
        b"\x02" + frames.varint(TOP & -(1 << 31) - 1), "-2147483649 is no number of type 2",
    ),
}  # fmt: skip


def read(data: bytes) -> Tape:
    return Tape(data, 0, len(data))


@pytest.mark.parametrize(("number", "written"), NUMBERS)
def test_a_number_is_as_long_as_haproxy_makes_it(number: int, written: str) -> None:
    assert frames.varint(number).hex() == written
    assert read(bytes.fromhex(written)).number() == number


@given(st.integers(0, TOP))
def test_every_number_comes_back(number: int) -> None:
    tape = read(frames.varint(number))

    assert tape.number() == number
    assert tape.at == tape.end


@given(TYPED)
def test_every_value_comes_back(said: tuple[int, Value]) -> None:
    kind, value = said
    tape = read(frames.typed(kind, value))

    found = tape.value()

    assert (found, type(found), tape.at) == (value, type(value), tape.end)


@given(st.dictionaries(LATIN, TYPED))
def test_terms_come_back(said: dict[str, tuple[int, Value]]) -> None:
    written = {name.encode("latin-1"): frames.typed(*one) for name, one in said.items()}

    found = frames.terms(read(frames.listed(written)))

    assert found == {name: value for name, (_, value) in said.items()}


@given(st.integers(1, 103), st.integers(0, TOP), st.integers(0, TOP), st.binary())
def test_a_frame_comes_back(kind: int, stream: int, number: int, payload: bytes) -> None:
    mark = frames.varint(stream) + frames.varint(number)
    written = frames.frame(kind, mark, payload)
    end = frames.reach(written + b"next", 0, len(written))
    tape = Tape(written + b"next", 4, end)

    assert end == len(written)
    assert frames.head(tape) == (kind, mark)
    assert tape.data[tape.at : tape.end] == payload


def test_a_greeting_of_haproxy_is_read() -> None:
    tape = Tape(GREETING, 4, len(GREETING))

    assert frames.head(tape) == (frames.PROXY_HELLO, frames.UNMARKED)
    assert frames.terms(tape) == {
        "supported-versions": "2.0",
        "max-frame-size": 16380,
        "capabilities": "pipelining,async",
        "engine-id": "09909045-ddb6-417b-82dc-01e350fce9f1",
    }


def test_a_question_of_haproxy_is_read() -> None:
    # As HAProxy 2.6 sends it.
    said = bytes.fromhex(
        "000000b90300000001000105636865636b08066d6574686f6408034745540c6865616465722e782d6b657908"
        "0361c3bc047061746808022f630571756572790803713d3104686f7374080f3132372e302e302e313a313830"
        "383003737263067f00000106736368656d650804687474700768656164657273094304686f73740f3132372e"
        "302e302e313a31383038300a757365722d6167656e740b6375726c2f372e38382e3106616363657074032a2f"
        "2a05782d6b65790361c3bc0000"
    )
    tape = Tape(said, 4, len(said))

    assert frames.head(tape) == (frames.NOTIFY, b"\0\1")
    [found] = frames.messages(tape)
    assert listed(found.pop("headers")) == {
        "host": "127.0.0.1:18080",
        "user-agent": "curl/7.88.1",
        "accept": "*/*",
        "x-key": "a\xc3\xbc",
    }
    assert found == {
        "method": "GET",
        "header.x-key": "a\xc3\xbc",
        "path": "/c",
        "query": "q=1",
        "host": "127.0.0.1:18080",
        "src": "127.0.0.1",
        "scheme": "http",
    }


def test_what_an_agent_says_is_as_haproxy_expects_it() -> None:
    assert heard(frames.hello(16380) + frames.farewell(3, "too big")) == [
        (
            frames.AGENT_HELLO,
            b"\0\0",
            {"version": "2.0", "max-frame-size": 16380, "capabilities": "pipelining"},
        ),
        (frames.AGENT_DISCONNECT, b"\0\0", {"status-code": 3, "message": "too big"}),
    ]


@pytest.mark.parametrize("flaw", FLAWED)
def test_no_value(flaw: str) -> None:
    data, said = FLAWED[flaw]

    with pytest.raises(Flaw) as found:
        read(data).value()

    assert (found.value.status, found.value.message) == (frames.INVALID, said)


@given(st.binary(), st.sampled_from(["value", "number", "word", "byte"]))
def test_garbage_is_a_flaw_at_worst(data: bytes, verb: str) -> None:
    tape = read(data)

    assert status(lambda: exhaust(tape, verb)) in {frames.NORMAL, frames.INVALID}
    assert tape.at <= tape.end


@given(st.binary(), st.sampled_from([frames.terms, frames.messages, frames.head]))
def test_a_frame_of_garbage_is_a_flaw_at_worst(data: bytes, reads: Callable[..., Any]) -> None:
    # What lies behind a frame belongs to another one.
    tape = Tape(data + b"\xff" * 30, 0, len(data))

    assert status(lambda: reads(tape)) in {frames.NORMAL, frames.INVALID, frames.FRAGMENT}
    assert tape.at <= len(data)


@given(st.data(), st.sampled_from([GREETING, notify(message(path="/a", src="::1")), parting()]))
def test_a_frame_that_is_spoilt_is_a_flaw_at_worst(data: st.DataObject, said: bytes) -> None:
    place = data.draw(st.integers(4, len(said) - 1))
    spoilt = said[:place] + data.draw(st.binary(min_size=1, max_size=3)) + said[place + 1 :]

    found = status(lambda: whole(Tape(spoilt, 4, len(spoilt))))

    assert found in {frames.NORMAL, frames.INVALID, frames.FRAGMENT}


@pytest.mark.parametrize("size", range(4))
def test_the_length_of_a_frame_is_waited_for(size: int) -> None:
    assert frames.reach(bytes(size), 0, 100) == 4


def test_a_frame_may_be_as_long_as_was_agreed() -> None:
    assert frames.reach(b"\0\0\1\0", 0, 256) == 260
    with pytest.raises(Flaw, match="a frame has 257 bytes, and 256 are the most") as found:
        frames.reach(b"\0\0\1\1", 0, 256)
    assert found.value.status == frames.BIG


def test_a_frame_has_a_head() -> None:
    with pytest.raises(Flaw, match="a frame of 6 bytes has no head"):
        frames.reach(b"\0\0\0\6", 0, 256)


def test_a_part_of_a_frame_is_not_taken() -> None:
    with pytest.raises(Flaw) as found:
        frames.head(read(b"\3\0\0\0\0\1\1"))

    assert found.value.status == frames.FRAGMENT


def test_so_many_messages_are_answered_together() -> None:
    one = message()

    assert len(frames.messages(read(one * 16))) == 16
    with pytest.raises(Flaw, match="a frame has more than 16 messages"):
        frames.messages(read(one * 17))


def exhaust(tape: Tape, verb: str) -> None:
    while tape.at < tape.end:
        getattr(tape, verb)()


def whole(tape: Tape) -> Any:
    kind, _ = frames.head(tape)
    return frames.messages(tape) if kind == frames.NOTIFY else frames.terms(tape)


def status(reads: Callable[[], Any]) -> int:
    """What is wrong with what is read, by its number; its words fit into every frame."""
    try:
        reads()
    except Flaw as flaw:
        return flaw.status if len(flaw.message) < 100 else -1
    return frames.NORMAL
