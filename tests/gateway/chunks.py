"""Chunks: their sizes, extensions, ends and trailers."""

from __future__ import annotations

from tests.gateway.cases import (
    CHUNKED,
    HIDDEN,
    Case,
    Cut,
    Left,
    Outcome,
    Passed,
    case,
    post,
)

SAID = Passed("POST", body=b"hello")
TRUSTED = Passed("POST", body=b"hello", lacks=("authorization", "cookie"))


def chunks(name: str, body: bytes, *expected: Outcome) -> Case:
    """A POST with a body in chunks; it is cut unless something else is said."""
    return case(name, post(CHUNKED, body=body), *(expected or (Cut(),)))


def size(text: bytes, *expected: Outcome) -> Case:
    """Five bytes in a chunk that says this of its size."""
    name = f"size {text[:24].decode('latin-1')!r}{'...' if len(text) > 24 else ''}"
    return chunks(name, text + b"\r\nhello\r\n0\r\n\r\n", *expected)


def trailer(text: bytes, *expected: Outcome) -> Case:
    """Five bytes in a chunk, and these lines after the last one."""
    name = f"trailer {text[:32].decode('latin-1')!r}"
    return chunks(name, b"5\r\nhello\r\n0\r\n" + text + b"\r\n\r\n", *expected)


CASES = (
    size(b"5", SAID),
    size(b"05", SAID, Cut()),
    size(b"00000005", SAID, Cut()),
    size(b"00000000000000000005", SAID, Cut()),
    size(b"0" * 400_000 + b"5"),
    size(b""),
    size(b" 5"),
    size(b"\t5"),
    size(b"5 ", SAID, Cut()),
    size(b"5\t", SAID, Cut()),
    size(b"5\x0b"),
    size(b"5\x00"),
    size(b"+5"),
    size(b"-5"),
    size(b"0x5"),
    size(b"0X5"),
    size(b"5h"),
    size(b"5_0"),
    size(b"5.0"),
    size(b"g"),
    size(b"5,5"),
    size(b"5 5"),
    size(b"\xff5"),
    size(b"10000000000000005"),
    size(b"100000005", Left()),
    size(b"ffffffffffffffff", Left()),
    size(b"fffffffffffffffff"),
    size(b"8000000000000005", Left()),
    size(b"-1"),
    size(b"5;", SAID, Cut()),
    size(b"5;a", SAID, Cut()),
    size(b"5;a=b", SAID, Cut()),
    size(b"5 ;a=b", SAID, Cut()),
    size(b"5;a=b;c=d", SAID, Cut()),
    size(b'5;a="b c"', SAID, Cut()),
    size(b'5;a="b;c\\"d"', SAID, Cut()),
    size(b'5;a="b\r\nc"'),
    size(b"5;a\rb"),
    size(b"5;a\nb"),
    size(b"5;\rb"),
    size(b"5;\n"),
    size(b"5;a\r"),
    size(b"5\r"),
    size(b"5;a=\x00"),
    size(b"5;a=" + b"b" * 17_000, SAID, Cut(), Cut(413), Cut(431)),
    size(b"5;ab=" + b"b" * 400_000, Cut(), Cut(413), Cut(431)),
    chunks(
        "extensions that add up",
        b"".join(b"1;a=%s\r\nx\r\n" % (b"b" * 900) for _ in range(400)) + b"0\r\n\r\n",
        *(Cut(), Cut(413), Cut(431)),
    ),
    chunks("upper case", b"B\r\nhello world\r\n0\r\n\r\n", Passed("POST", body=b"hello world")),
    chunks("lower case", b"b\r\nhello world\r\n0\r\n\r\n", Passed("POST", body=b"hello world")),
    chunks("three chunks", b"2\r\nhe\r\n1\r\nl\r\n2\r\nlo\r\n0\r\n\r\n", SAID),
    chunks("no bytes", b"0\r\n\r\n", Passed("POST")),
    chunks("a request", b"26\r\n" + HIDDEN + b"\r\n0\r\n\r\n", Passed("POST", body=HIDDEN)),
    chunks(
        "a last chunk in chunks", b"5\r\n0\r\n\r\n\r\n0\r\n\r\n", Passed("POST", body=b"0\r\n\r\n")
    ),
    chunks("several zeros", b"5\r\nhello\r\n000\r\n\r\n", SAID, Cut()),
    chunks("an extension of the last", b"5\r\nhello\r\n0;a=b\r\n\r\n", SAID, Cut()),
    chunks("a size before LF", b"5\nhello\r\n0\r\n\r\n"),
    chunks("a size before CR", b"5\rhello\r\n0\r\n\r\n"),
    chunks("an extension before LF", b"5;a\nhello\r\n0\r\n\r\n"),
    chunks("a last size before LF", b"5\r\nhello\r\n0\n\r\n"),
    chunks("an end of LF", b"5\r\nhello\r\n0\r\n\n"),
    chunks("chunks with all ends of LF", b"5\nhello\n0\n\n"),
    chunks("no end of the data", b"5\r\nhello0\r\n\r\n"),
    chunks("data before LF", b"5\r\nhello\n0\r\n\r\n"),
    chunks("data before CR", b"5\r\nhello\r0\r\n\r\n"),
    chunks("data before other bytes", b"5\r\nhelloXX0\r\n\r\n"),
    chunks("data that is too long", b"5\r\nhello!\r\n0\r\n\r\n"),
    chunks("data that is too short", b"5\r\nhell\r\n0\r\n\r\n"),
    chunks("a wrong chunk, and a request", b"5\r\nhelloXX\r\n0\r\n\r\n" + HIDDEN),
    chunks("half a size", b"5", Left()),
    chunks("half a chunk", b"5\r\nhel", Left()),
    chunks("no last chunk", b"5\r\nhello\r\n", Left()),
    chunks("half an end", b"5\r\nhello\r\n0\r\n", Left()),
    chunks("a trailer without an end", b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n", Left()),
    chunks("a size that takes in a request", b"50\r\nhello\r\n0\r\n\r\n" + HIDDEN, Left()),
    chunks("more than is allowed", b"10001\r\n" + b"x" * 65_537 + b"\r\n0\r\n\r\n", Cut(413)),
    trailer(b"X-Sum: 1", SAID),
    trailer(b"X-Sum: 1\r\nX-Other: 2", SAID),
    trailer(b"Authorization: x\r\nCookie: y", TRUSTED, Cut()),
    trailer(b"Transfer-Encoding: chunked", SAID, Cut()),
    trailer(b"Content-Length: 5", SAID, Cut()),
    trailer(b"Content-Length: 50", SAID, Cut()),
    trailer(b"Content-Length: x", SAID, Cut()),
    trailer(b"Host: b.test", SAID, Cut()),
    trailer(b"X-Forwarded-For: 1.2.3.4", SAID, Cut()),
    trailer(b"Connection: upgrade\r\nUpgrade: websocket", SAID, Cut()),
    trailer(b"Expect: 100-continue", SAID, Cut()),
    trailer(b"X_Sum: 1", SAID, Cut()),
    trailer(b"X-Sum: 1\r\n folded"),
    trailer(b" X-Sum: 1"),
    trailer(b"X-Sum : 1"),
    trailer(b"X-Sum 1"),
    trailer(b": 1"),
    trailer(b"X-Sum: 1\nX-Other: 2"),
    trailer(b"X-Sum: 1\rX-Other: 2"),
    trailer(b"X-Sum: \x00"),
    trailer(b"GET /hidden HTTP/1.1\r\nHost: a.test"),
    trailer(b"\r\n".join(b"X-%d: 1" % number for number in range(200)), Cut(431), Cut()),
    trailer(b"X-Sum: " + b"1" * 70_000, Cut(431), Cut()),
)
