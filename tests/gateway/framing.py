"""Where a body ends: lengths and encodings that two servers may read in two ways."""

from __future__ import annotations

from tests.gateway.cases import (
    CHUNKED,
    HIDDEN,
    HOST,
    Case,
    Left,
    Outcome,
    Passed,
    Refused,
    Two,
    ask,
    case,
    get,
    post,
)

HELLO = b"5\r\nhello\r\n0\r\n\r\n"
# To one who counts, all of it is a body; to one who reads chunks, the first five bytes are.
VEILED = b"0\r\n\r\n" + HIDDEN
SAID = Passed("POST", body=b"hello")

# None of these is exactly one line that says `chunked`, whatever it looks like to some.
ENCODINGS = {
    "another word": b"Transfer-Encoding: xchunked",
    "half the word": b"Transfer-Encoding: chunk",
    "a word and more": b"Transfer-Encoding: chunkedx",
    "nothing": b"Transfer-Encoding:",
    "identity": b"Transfer-Encoding: identity",
    "gzip": b"Transfer-Encoding: gzip",
    "gzip, then chunked": b"Transfer-Encoding: gzip, chunked",
    "chunked, then gzip": b"Transfer-Encoding: chunked, gzip",
    "chunked, then identity": b"Transfer-Encoding: chunked, identity",
    "identity, then chunked": b"Transfer-Encoding: identity, chunked",
    "chunked twice in a line": b"Transfer-Encoding: chunked, chunked",
    "chunked twice": CHUNKED + b"\r\n" + CHUNKED,
    "chunked, then a line of identity": CHUNKED + b"\r\nTransfer-Encoding: identity",
    "a line of identity, then chunked": b"Transfer-Encoding: identity\r\n" + CHUNKED,
    "chunked, then a line of nothing": CHUNKED + b"\r\nTransfer-Encoding:",
    "chunked, then another word": CHUNKED + b"\r\nTransfer-encoding: x",
    "a comma before": b"Transfer-Encoding: ,chunked",
    "a comma after": b"Transfer-Encoding: chunked,",
    "a parameter": b"Transfer-Encoding: chunked;q=1",
    "quotes": b'Transfer-Encoding: "chunked"',
    "single quotes": b"Transfer-Encoding: 'chunked'",
    "a vertical tab before": b"Transfer-Encoding: \x0bchunked",
    "a vertical tab after": b"Transfer-Encoding: chunked\x0b",
    "a form feed before": b"Transfer-Encoding: \x0cchunked",
    "a NUL after": b"Transfer-Encoding: chunked\x00",
    "a carriage return before": b"Transfer-Encoding: \rchunked",
    "a carriage return after": b"Transfer-Encoding: chunked\r",
    "a space that does not break": b"Transfer-Encoding: \xa0chunked",
    "a byte above ASCII": b"Transfer-Encoding: \xffchunked",
    "a space before the colon": b"Transfer-Encoding : chunked",
    "a tab before the colon": b"Transfer-Encoding\t: chunked",
    "a vertical tab in the name": b"Transfer-Encoding\x0b: chunked",
    "a NUL in the name": b"Transfer-Encoding\x00: chunked",
    "an underscore": b"Transfer_Encoding: chunked",
    "a fold before the colon": b"Transfer-Encoding\r\n : chunked",
    "a fold after the colon": b"Transfer-Encoding:\r\n chunked",
    "a fold inside": b"Transfer-Encoding: gzip\r\n , chunked",
    "a space before the name": b"X-A: b\r\n Transfer-Encoding: chunked",
    "a line that ends in LF": b"X-A: b\nTransfer-Encoding: chunked",
    "a line that ends in CR": b"X-A: b\rTransfer-Encoding: chunked",
    "no colon": b"Transfer-Encoding chunked",
}


def length(value: bytes, *expected: Outcome) -> Case:
    """A POST of five bytes that says this of their number."""
    data = post(b"Content-Length:" + value, body=b"hello")
    return case(f"length {value.decode('latin-1')!r}", data, *expected)


CASES = (
    *(
        case(f"encoding with {name}", post(line, body=HELLO), Refused())
        for name, line in ENCODINGS.items()
    ),
    *(
        case(
            f"encoding with {name}, and a length",
            post(b"Content-Length: %d" % len(VEILED), line, body=VEILED),
            Refused(),
        )
        for name, line in ENCODINGS.items()
    ),
    case("CL.TE", post(b"Content-Length: %d" % len(VEILED), CHUNKED, body=VEILED)),
    case("TE.CL", post(CHUNKED, b"Content-Length: 4", body=b"26\r\n" + HIDDEN + b"\r\n0\r\n\r\n")),
    case("TE.CL, both right", post(CHUNKED, b"Content-Length: 15", body=HELLO)),
    case("TE.CL, a length of 0", post(CHUNKED, b"Content-Length: 0", body=HELLO)),
    case("CL.TE, no word", post(b"Content-Length: 5", b"Transfer-Encoding:", body=b"hello")),
    case("chunked in HTTP/1.0", ask(b"POST /case HTTP/1.0", HOST, CHUNKED, body=HELLO)),
    case("chunked in capitals", post(b"TRANSFER-ENCODING: CHUNKED", body=HELLO), SAID),
    case("chunked in mixed case", post(b"transfer-Encoding: chUnKed", body=HELLO), SAID),
    case("chunked after a tab", post(b"Transfer-Encoding:\tchunked", body=HELLO), SAID, Refused()),
    case("chunked before a space", post(CHUNKED + b" ", body=HELLO), SAID, Refused()),
    case("chunked before a tab", post(CHUNKED + b"\t", body=HELLO), SAID, Refused()),
    case("chunked without a space", post(b"Transfer-Encoding:chunked", body=HELLO), SAID),
    case("GET, chunked", get(CHUNKED, body=HELLO), Passed(body=b"hello")),
    case("GET with a length", get(b"Content-Length: 5", body=b"hello"), Passed(body=b"hello")),
    case(
        "HEAD with a length",
        ask(b"HEAD /case HTTP/1.1", HOST, b"Content-Length: 5", body=b"hello"),
        Passed("HEAD", body=b"hello"),
    ),
    case(
        "DELETE with a length",
        ask(b"DELETE /case HTTP/1.1", HOST, b"Content-Length: 5", body=b"hello"),
        Passed("DELETE", body=b"hello"),
    ),
    case("POST with neither", post(), Passed("POST")),
    case(
        "a body that looks like a request",
        post(b"Content-Length: %d" % len(HIDDEN), body=HIDDEN),
        Passed("POST", body=HIDDEN),
    ),
    case(
        "a body that looks like chunks",
        post(b"Content-Length: %d" % len(VEILED), body=VEILED),
        Passed("POST", body=VEILED),
    ),
    case(
        "a GET with a body that looks like a request",
        get(b"Content-Length: %d" % len(HIDDEN), body=HIDDEN),
        Passed(body=HIDDEN),
    ),
    case(
        "CL.0, a length of 0 before a request",
        post(b"Content-Length: 0", body=HIDDEN),
        Two(Passed("POST"), Passed(target="/hidden")),
    ),
    length(b" 5", SAID),
    length(b"5", SAID),
    length(b"\t5", SAID, Refused()),
    length(b"    5", SAID),
    length(b" 5  ", SAID, Refused()),
    length(b" 05", SAID, Refused()),
    length(b" 000000000000000000000005", SAID, Refused()),
    length(b" 50", Left()),
    length(b" +5"),
    length(b" -5"),
    length(b" -0"),
    length(b" 0x5"),
    length(b" 5h"),
    length(b" 5.0"),
    length(b" 5e0"),
    length(b" 5;"),
    length(b" 5,"),
    length(b" ,5"),
    length(b" 5, 5"),
    length(b" 5, 6"),
    length(b" 5 5"),
    length(b" 5\x0b"),
    length(b" 5\x00"),
    length(b" \xb2"),
    length(b' "5"'),
    length(b" five"),
    length(b""),
    length(b" "),
    length(b" 5\r\n "),
    length(b"\r\n 5"),
    length(b" 5\r\nContent-Length: 5"),
    length(b" 5\r\nContent-Length: 6"),
    length(b" 0\r\nContent-Length: 5"),
    length(b" 5\r\ncontent-length: 0"),
    length(b" 5\r\nContent-Length:"),
    length(b" 18446744073709551615", Refused(), Refused(413)),
    length(b" 18446744073709551621", Refused(), Refused(413)),
    length(b" 9223372036854775813", Refused(), Refused(413)),
    length(b" 4294967301", Refused(413)),
    length(b" " + b"9" * 400, Refused(), Refused(413)),
    case(
        "a length that takes in half a request",
        post(b"Content-Length: 40", body=b"hello" + HIDDEN[:-4]),
        Left(),
    ),
    case("a length with an underscore", post(b"Content_Length: 5", body=b"hello")),
    case("a length before a space", post(b"Content-Length : 5", body=b"hello")),
    case("a length before a tab", post(b"Content-Length\t: 5", body=b"hello")),
    case("a length after a space", post(b"X-A: b", b" Content-Length: 5", body=b"hello")),
    case("a length of more than is allowed", post(b"Content-Length: 65537"), Refused(413)),
)
