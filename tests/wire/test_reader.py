"""Readers: the same is told whoever listens, in however many pieces a message comes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import COMPILED
from headgate.wire import reader as module
from headgate.wire.ear import Bytes, Ear
from headgate.wire.reader import ALL, ANSWERS, REQUESTS, SPOILT, Reader
from tests.gateway.corpus import CASES

LONG = b"x" * 40_000


class Secretary(Ear):
    """Writes down what it hears; parts that belong together are joined."""

    def __init__(self, kind: int, refuses: str = "") -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.refuses = refuses
        self.reader = Reader(self, kind)

    def note(self, what: str, *said: Any) -> None:
        if what == self.refuses:
            raise ValueError
        self.heard.append((what, *said))

    def on_message_begin(self) -> None:
        self.note("begin")

    def on_url(self, part: bytes) -> None:
        self.join("url", part)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.note("header", name, value)

    def on_headers_complete(self) -> None:
        reader = self.reader
        kept = (reader.keeps, reader.turns, reader.version, reader.status, reader.method)
        self.note("head", *kept)

    def on_body(self, part: Bytes) -> None:
        self.join("body", bytes(part))

    def on_message_complete(self) -> None:
        self.note("end")

    def join(self, what: str, part: bytes) -> None:
        if self.heard and self.heard[-1][0] == what:
            part = self.heard.pop()[1] + part
        self.note(what, part)


def told(kind: int, parts: list[Bytes], refuses: str = "") -> tuple[list[tuple[Any, ...]], int]:
    """What is heard of a message, and how its reading ends."""
    secretary = Secretary(kind, refuses)
    end = ALL
    for part in parts:
        end = secretary.reader.feed(part)
        if end != ALL:
            break
    return secretary.heard, end


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """A message in pieces."""
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


POST = (
    b"POST /a?b=c HTTP/1.1\r\nHost: a.test\r\nEmpty:\r\nSpaces:  a b \t\r\n"
    b"Content-Length: 3\r\n\r\nabcGET /d HTTP/1.0\r\n\r\n"
)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\nHTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"
)
UPGRADE = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nrest"


@pytest.mark.skipif(not COMPILED, reason="interpreted, httptools itself is listened to")
def test_compiled_llhttp_is_listened_to_directly() -> None:
    assert module.DIRECT


def test_a_request_is_told_word_by_word() -> None:
    heard, end = told(REQUESTS, [POST])

    assert end == ALL
    assert heard == [
        ("begin",),
        ("url", b"/a?b=c"),
        ("header", b"Host", b"a.test"),
        ("header", b"Empty", b""),
        ("header", b"Spaces", b"a b \t"),
        ("header", b"Content-Length", b"3"),
        ("head", True, False, 11, 0, b"POST"),
        ("body", b"abc"),
        ("end",),
        ("begin",),
        ("url", b"/d"),
        ("head", False, False, 10, 0, b"GET"),
        ("end",),
    ]


def test_an_answer_is_told_word_by_word() -> None:
    heard, end = told(ANSWERS, [CHUNKED])

    assert end == ALL
    assert heard == [
        ("begin",),
        ("header", b"Transfer-Encoding", b"chunked"),
        ("head", True, False, 11, 200, b""),
        ("body", b"abcde"),
        ("header", b"Trailer", b"t"),
        ("end",),
        ("begin",),
        ("header", b"Content-Length", b"0"),
        ("head", True, False, 11, 404, b""),
        ("end",),
    ]


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 40_000])
def test_a_long_body_is_handed_on_as_it_lies(size: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
    data = memoryview(bytearray(head + LONG[:size]))
    heard, end = told(ANSWERS, [data])

    assert end == ALL
    assert heard[-2:] == [("body", LONG[:size]), ("end",)]


def test_what_follows_an_upgrade_is_not_read() -> None:
    heard, end = told(REQUESTS, [UPGRADE])

    assert end == len(UPGRADE) - len(b"rest")
    assert heard[-2:] == [("head", True, True, 11, 0, b"GET"), ("end",)]


@pytest.mark.parametrize("refuses", ["begin", "url", "header", "head", "body", "end"])
def test_who_does_not_accept_a_word_hears_no_more(refuses: str) -> None:
    heard, end = told(REQUESTS, [POST], refuses)

    assert end == SPOILT
    assert heard == told(REQUESTS, [POST])[0][: len(heard)]
    assert len(heard) < 9


def test_another_failure_of_who_hears_is_its_own() -> None:
    class Broken(Secretary):
        def on_url(self, part: bytes) -> None:
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        Broken(REQUESTS).reader.feed(POST)


def test_a_reader_that_begins_anew_has_read_nothing() -> None:
    secretary = Secretary(REQUESTS)
    assert secretary.reader.feed(b"GET /half") == ALL
    secretary.reader.renew()
    secretary.heard.clear()

    assert secretary.reader.feed(POST) == ALL
    assert secretary.heard == told(REQUESTS, [POST])[0]


@pytest.mark.skipif(not COMPILED, reason="interpreted, nobody else listens")
def test_both_ways_of_listening_hear_the_same(monkeypatch: pytest.MonkeyPatch, scale: int) -> None:
    # A few cases are half a megabyte long: `make soak` takes those apart to the last byte.
    most = 500_000 if scale > 1 else 500
    ways = [
        (case.name, parts)
        for case in CASES
        for parts in ([case.data], cut(case.data, [*range(min(most, len(case.data)))]))
    ]
    direct = [told(REQUESTS, [*parts]) for _, parts in ways]
    monkeypatch.setattr(module, "DIRECT", False)

    through = [told(REQUESTS, [*parts]) for _, parts in ways]
    assert len(ways) > 1000
    assert [way for way, a, b in zip(ways, direct, through, strict=True) if a != b] == []


@given(
    st.sampled_from([(REQUESTS, POST), (ANSWERS, CHUNKED), (REQUESTS, UPGRADE)]),
    st.lists(st.integers(0, 500)),
)
def test_pieces_make_no_difference(message: tuple[int, bytes], places: list[int]) -> None:
    kind, data = message
    heard, end = told(kind, list(cut(data, places)))
    whole, last = told(kind, [data])

    assert heard == whole
    assert (end >= 0) == (last >= 0)
