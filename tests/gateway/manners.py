"""What concerns one connection only: its upkeep, upgrades, expectations, and who stands before."""

from __future__ import annotations

from tests.gateway.cases import (
    CHUNKED,
    HIDDEN,
    HOST,
    Case,
    Outcome,
    Passed,
    Refused,
    Then,
    Two,
    ask,
    case,
    get,
    post,
)

SOCKET = (
    *(b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"),
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)
SETTINGS = b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"
HELLO = b"5\r\nhello\r\n0\r\n\r\n"
SAID = Passed("POST", body=b"hello", lacks=("expect",))
HID = Passed(target="/hidden")
UNEXPECTED = (Refused(417), Refused())
PLAIN = Passed(lacks=("upgrade", "http2-settings"))
# A server may be asked for this one protocol, and for no other beside it.
VAIN = (PLAIN, Passed(has=(("upgrade", "websocket"),)), Refused())
SECOND = b"GET /second HTTP/1.1\r\nHost: a.test\r\n\r\n"
AFTER = Passed(target="/second")


def named(option: bytes, line: bytes) -> Case:
    """A GET that would have a header taken away which the upstream cannot do without."""
    name, _, value = line.decode().partition(": ")
    kept = Passed(has=((name.lower(), value),))
    return case(
        f"connection: {option.decode()}", get(b"Connection: " + option, line), kept, Refused()
    )


def expecting(value: bytes, *expected: Outcome) -> Case:
    """A POST that expects this, and sends its body when it hears 100."""
    head = post(b"Content-Length: 5", b"Expect: " + value)
    return case(f"expect {value.decode()!r}", head, *expected, later=b"hello")


def claimed(*lines: bytes, lacks: tuple[str, ...] = ()) -> Case:
    """A GET by somebody who claims to speak for another."""
    return case(f"claim {lines[0].decode()!r} of {len(lines)}", get(*lines), Passed(lacks=lacks))


CASES = (
    case(
        "connection: x-secret",
        get(b"Connection: x-secret", b"X-Secret: b"),
        Passed(lacks=("x-secret",)),
    ),
    case(
        "connection: close, x-secret",
        get(b"X-Secret: b", b"Connection: close,X-SECRET"),
        Passed(lacks=("x-secret",)),
    ),
    case(
        "connection in two lines",
        get(b"Connection: keep-alive", b"X-Secret: b", b"Connection: x-secret"),
        Passed(lacks=("x-secret",)),
    ),
    case("connection: close", get(b"Connection: close"), Passed()),
    case("connection of commas", get(b"Connection: , ,,"), Passed(), Refused()),
    case(
        "connection: keep-alive", get(b"Connection: keep-alive", b"Keep-Alive: timeout=5"), Passed()
    ),
    case("proxy-connection", get(b"Proxy-Connection: keep-alive"), Passed()),
    named(b"authorization", b"Authorization: Basic YTpi"),
    named(b"close, cookie", b"Cookie: a=b"),
    case("connection: host", get(b"Connection: host"), Passed(), Refused()),
    case("connection: x-forwarded-for", get(b"Connection: x-forwarded-for"), Passed(), Refused()),
    case(
        "connection: x-forwarded-for, -host, -proto",
        get(b"Connection: close, X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto"),
        *(Passed(), Refused()),
    ),
    case(
        "connection: content-length",
        post(b"Content-Length: %d" % len(HIDDEN), b"Connection: content-length", body=HIDDEN),
        *(Passed("POST", body=HIDDEN), Refused()),
    ),
    case(
        "connection: transfer-encoding",
        post(CHUNKED, b"Connection: close, Transfer-Encoding", body=HELLO),
        *(Passed("POST", body=b"hello"), Refused()),
    ),
    case("te", get(b"TE: trailers", b"Connection: TE"), Passed(lacks=("te",))),
    case("te without a connection", get(b"TE: trailers, deflate;q=0.5"), Passed(lacks=("te",))),
    case("trailer", post(CHUNKED, b"Trailer: X-Sum", body=HELLO), Passed("POST", body=b"hello")),
    expecting(b"100-continue", SAID),
    expecting(b"100-Continue", SAID),
    expecting(b"x", Refused(417)),
    expecting(b"y 100-continue", *UNEXPECTED),
    expecting(b"100-continue, x", *UNEXPECTED),
    expecting(b"100-continue;x", *UNEXPECTED),
    expecting(b"100-continue x", *UNEXPECTED),
    expecting(b"100", *UNEXPECTED),
    expecting(b"", SAID, *UNEXPECTED),
    expecting(b"\r\n 100-continue"),
    expecting(b"100-continue\r\nExpect: x", *UNEXPECTED),
    expecting(b"x\r\nExpect: 100-continue", *UNEXPECTED),
    expecting(b"100-continue\r\nExpect: 100-continue", SAID, *UNEXPECTED),
    case(
        "expect, and the body at once",
        post(b"Content-Length: 5", b"Expect: 100-continue", body=b"hello"),
        SAID,
    ),
    case("expect, in chunks", post(CHUNKED, b"Expect: 100-continue"), SAID, later=HELLO),
    case("expect without a body", get(b"Expect: 100-continue"), Passed(lacks=("expect",))),
    case(
        "expect, and a length of 0 before a request",
        post(b"Content-Length: 0", b"Expect: 100-continue", body=HIDDEN),
        Two(Passed("POST", lacks=("expect",)), HID),
    ),
    case(
        "expect in HTTP/1.0",
        ask(
            b"POST /case HTTP/1.0",
            HOST,
            b"Content-Length: 5",
            b"Expect: 100-continue",
            body=b"hello",
        ),
        *(SAID, *UNEXPECTED),
    ),
    case(
        "upgrade to h2c",
        get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", SETTINGS),
        PLAIN,
    ),
    case(
        "upgrade to h2c, and a request",
        get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", SETTINGS, body=SECOND),
        *(Two(PLAIN, AFTER), PLAIN),
    ),
    case(
        "upgrade to h2c, and a preface",
        get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", SETTINGS)
        + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        *(Then(PLAIN), Then(PLAIN, 505), Then(PLAIN, 501), PLAIN),
    ),
    case(
        "upgrade to h2c, in chunks",
        post(CHUNKED, b"Connection: Upgrade", b"Upgrade: h2c", body=HELLO),
    ),
    case("settings that are not named", get(b"Connection: close", SETTINGS), PLAIN, Refused()),
    case(
        "upgrade to something", get(b"Connection: Upgrade", b"Upgrade: something"), PLAIN, Refused()
    ),
    *(
        case(f"upgrade: {word.decode()!r}", get(b"Connection: Upgrade", b"Upgrade: " + word), *VAIN)
        for word in (
            *(b"H2C", b"h2c, x", b"x, h2c", b"h2c,websocket", b"websocket, h2c", b"h2c\t, x"),
            *(b"h2c\r\nUpgrade: websocket", b"websocket\r\nUpgrade: h2c", b"HTTP/2.0", b"TLS/1.2"),
        )
    ),
    case("upgrade without a connection", get(b"Upgrade: websocket"), PLAIN, Refused()),
    case("upgrade of nothing", get(b"Connection: Upgrade"), PLAIN),
    case("upgrade with a length", post(*SOCKET, b"Content-Length: 5", body=b"hello")),
    case("upgrade in chunks", post(*SOCKET, CHUNKED, body=HELLO)),
    case("upgrade that is not answered", get(*SOCKET), Passed(), Refused()),
    case(
        "upgrade that is not answered, and a request",
        get(*SOCKET[:2], b"Sec-WebSocket-Version: 777", body=SECOND),
        *(Passed(), Two(Passed(), AFTER), Refused()),
    ),
    claimed(b"X-Forwarded-For: 1.2.3.4"),
    claimed(b"X-Forwarded-For: 1.2.3.4", b"x-forwarded-FOR: 5.6.7.8"),
    claimed(b"X-Forwarded-Host: b.test", b"X-Forwarded-Proto: https"),
    claimed(b"X-Forwarded-Port: 443", lacks=("x-forwarded-port",)),
    claimed(b"Forwarded: for=1.2.3.4;host=b.test", lacks=("forwarded",)),
    case("claim with underscores", get(b"X_Forwarded_For: 1.2.3.4")),
    case("two of GET", get(body=SECOND), Two(Passed(), AFTER)),
    case(
        "HEAD, then GET", ask(b"HEAD /case HTTP/1.1", HOST, body=SECOND), Two(Passed("HEAD"), AFTER)
    ),
    case(
        "a length, then GET",
        post(b"Content-Length: 5", body=b"hello" + SECOND),
        Two(Passed("POST", body=b"hello"), AFTER),
    ),
    case(
        "chunks, then GET",
        post(CHUNKED, body=HELLO + SECOND),
        Two(Passed("POST", body=b"hello"), AFTER),
    ),
    case(
        "GET, then chunks",
        get(body=ask(b"POST /second HTTP/1.1", HOST, CHUNKED, body=HELLO)),
        Two(Passed(), Passed("POST", "/second", b"hello")),
    ),
    case(
        "a length, an empty line, then GET",
        post(b"Content-Length: 5", body=b"hello\r\n" + SECOND),
        *(Two(Passed("POST", body=b"hello"), AFTER), Then(Passed("POST", body=b"hello"))),
    ),
    case("GET, then rubbish", get(body=b"rubbish\r\n\r\n"), Then(Passed()), Then(Passed(), 501)),
    case(
        "GET, then a head of two lengths",
        get(body=post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello")),
        Then(Passed()),
    ),
    case(
        "a length that is too short",
        post(b"Content-Length: 5", body=b"hello world\r\n\r\n"),
        *(Then(Passed("POST", body=b"hello")), Then(Passed("POST", body=b"hello"), 501)),
    ),
    case("close, then GET", get(b"Connection: close", body=SECOND), Passed()),
    case("close among others, then GET", get(b"Connection: x-a, CLOSE", body=SECOND), Passed()),
    case("HTTP/1.0, then GET", ask(b"GET /case HTTP/1.0", HOST, body=SECOND), Passed()),
    case(
        "HTTP/1.0 to be kept, then GET",
        ask(b"GET /case HTTP/1.0", HOST, b"Connection: keep-alive", body=SECOND),
        *(Two(Passed(), AFTER), Passed()),
    ),
    case(
        "HTTP/1.0 without a host",
        b"GET /case HTTP/1.0\r\n\r\n",
        *(Passed(host="localhost"), Refused()),
    ),
)
