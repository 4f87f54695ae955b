"""Commands are read as a Redis reads them, in whatever pieces they come."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.resp.reader import Garbage, Reader
from tests.servers.resp import encode

WORDS = st.lists(st.binary(max_size=40), min_size=1, max_size=8)


def read(*pieces: bytes) -> list[list[bytes]]:
    """The commands in pieces of what was sent."""
    reader, found = Reader(), []
    for piece in pieces:
        reader.feed(piece)
        while (words := reader.take()) is not None:
            found.append(words)
    return found


@given(st.lists(WORDS, max_size=6), st.integers(0, 1000))
def test_commands_come_out_as_they_went_in_however_they_are_cut(
    commands: list[list[bytes]], seed: int
) -> None:
    data, chance, pieces = b"".join(encode(*words) for words in commands), random.Random(seed), []
    while data:
        size = chance.randrange(1, 30)
        pieces.append(data[:size])
        data = data[size:]

    assert read(*pieces) == commands


@given(st.binary(max_size=300))
def test_garbage_is_read_as_commands_or_refused_and_nothing_else(data: bytes) -> None:
    reader = Reader()
    try:
        for place in range(len(data)):
            reader.feed(data[place : place + 1])
            while (words := reader.take()) is not None:
                assert all(type(word) is bytes for word in words)
    except Garbage:
        pass


@given(st.binary(max_size=200), st.integers(0, 200))
def test_what_comes_at_once_is_read_as_what_comes_byte_by_byte(data: bytes, cut: int) -> None:
    assert outcome(data) == outcome(data[:cut], data[cut:])
    assert outcome(data) == outcome(*[data[place : place + 1] for place in range(len(data))])


def outcome(*pieces: bytes) -> list[object]:
    """The commands, and that it was garbage then."""
    reader = Reader()
    found: list[object] = []
    try:
        for piece in pieces:
            if piece:
                reader.feed(piece)
            while (words := reader.take()) is not None:
                found.append(words)
    except Garbage:
        found.append("garbage")
    return found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"PING\r\n", [b"PING"]),
        (b"PING\n", [b"PING"]),
        (b"  GET   a \r\n", [b"GET", b"a"]),
        (b"\r\n", []),
        (b"*0\r\n", []),
        (b"*-1\r\n", []),
        (b'SET "a b" c\r\n', [b"SET", b"a b", b"c"]),
        (b"SET 'a \"b' c\r\n", [b"SET", b'a "b', b"c"]),
        (b"SET 'it\\'s'\r\n", [b"SET", b"it's"]),
        (b'SET "\\x41\\n\\\\\\""\r\n', [b"SET", b'A\n\\"']),
        (b'SET ""\r\n', [b"SET", b""]),
        (b"*1\r\n$0\r\n\r\n", [b""]),
    ],
)
def test_lines_are_read_as_somebody_types_them(line: bytes, words: list[bytes]) -> None:
    assert read(line) == [words]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*1025\r\n", "invalid multibulk length"),
        (b"*99999999999999999999999", "invalid multibulk length"),
        (b"*1\r*", "invalid multibulk length"),
        (b"*" + b"0" * 40, "too big mbulk count string"),
        (b"*1\r\nx", "expected '$', got 'x'"),
        (b"*1\r\n\x00", "expected '$', got '?'"),
        (b"*1\r\n$\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$65537\r\n", "invalid bulk length"),
        (b"*2\r\n$65000\r\n" + b"a" * 65000 + b"\r\n$600\r\n", "a command has at most 65536 bytes"),
        (b'GET "a\r\n', "unbalanced quotes in request"),
        (b'GET "a"b\r\n', "unbalanced quotes in request"),
        (b"a" * 65_537, "too big inline request"),
        (b"a" * 65_537 + b"\n", "too big inline request"),
        (b"a " * 1025 + b"\n", "too many words"),
    ],
)
def test_what_is_no_command_is_refused_in_the_words_of_redis(data: bytes, problem: str) -> None:
    with pytest.raises(Garbage) as caught:
        read(data)

    assert str(caught.value) == problem


def test_it_is_known_whether_a_command_has_begun() -> None:
    reader = Reader()
    seen = []
    for piece in (b"*1\r", b"\n$4\r\n", b"PI", b"NG\r\n"):
        reader.feed(piece)
        reader.take()
        seen.append(reader.amid)

    assert seen == [True, True, True, False]
