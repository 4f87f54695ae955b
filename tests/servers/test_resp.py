"""The wire format, on paper."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.resp import Refusal, encode, parse

REPLIES: dict[bytes, Any] = {
    b"+OK\r\n": "OK",
    b":-7\r\n": -7,
    b"(12345678901234567890\r\n": 12345678901234567890,
    b"$5\r\na\r\nbc\r\n": "a\r\nbc",
    b"$0\r\n\r\n": "",
    b"$2\r\n\xff\x00\r\n": "\udcff\x00",
    b"$-1\r\n": None,
    b"*-1\r\n": None,
    b"_\r\n": None,
    b"#t\r\n": True,
    b"#f\r\n": False,
    b",0.5\r\n": 0.5,
    b"=7\r\ntxt:abc\r\n": "abc",
    b"*0\r\n": [],
    b"*3\r\n:1\r\n$1\r\na\r\n*1\r\n+b\r\n": [1, "a", ["b"]],
    b"~1\r\n:1\r\n": [1],
    b">2\r\n+message\r\n:1\r\n": ["message", 1],
    b"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n": ["a", 1, "b", 2],
}


@pytest.mark.parametrize("data", REPLIES, ids=repr)
def test_a_reply_is_read_to_its_end_and_no_further(data: bytes) -> None:
    found = parse(b"+before\r\n" + data + b"+after\r\n", start=9)

    assert found == (REPLIES[data], 9 + len(data))


@pytest.mark.parametrize("data", REPLIES, ids=repr)
def test_a_reply_is_not_read_before_it_is_complete(data: bytes) -> None:
    read = [parse(data[:size]) for size in range(len(data))]

    assert read == [None] * len(data)


@pytest.mark.parametrize("data", [b"-ERR no\r\n", b"!6\r\nERR no\r\n"], ids=repr)
def test_an_error_is_returned_in_the_words_of_the_server(data: bytes) -> None:
    refusal, end = parse(data) or (None, 0)

    assert (type(refusal), str(refusal), end) == (Refusal, "ERR no", len(data))


def test_what_is_no_reply_is_not_read() -> None:
    with pytest.raises(ValueError) as error:
        parse(b"HTTP/1.1 200 OK\r\n")
    assert str(error.value) == "no reply begins with b'HTTP/1.1 200 OK\\r\\n'"


def test_a_command_is_a_list_of_its_words() -> None:
    assert encode("SET", b"\xff", 1.5) == b"*3\r\n$3\r\nSET\r\n$1\r\n\xff\r\n$3\r\n1.5\r\n"
