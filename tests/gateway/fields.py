"""Lines of a head: their ends, names, values and number, and those that name the host."""

from __future__ import annotations

from tests.gateway.cases import HOST, Case, Left, Outcome, Passed, Refused, ask, case, get

FIRST = b"GET /case HTTP/1.1"
# What no name may hold, by what it is called.
NAMES = {
    "nothing": b"",
    "a space inside": b"X A",
    "a space before": b" X-A",
    "a tab before": b"\tX-A",
    "a space after": b"X-A ",
    "a tab after": b"X-A\t",
    "a NUL": b"X\x00A",
    "a carriage return": b"X\rA",
    "a line feed": b"X\nA",
    "a control byte": b"X\x01A",
    "a DEL": b"X\x7fA",
    "a byte above ASCII": b"X\x80A",
    "a letter above ASCII": "X-Ä".encode(),
    "a parenthesis": b"X(A",
    "an at sign": b"X@A",
    "a bracket": b"X[A",
    "a brace": b"X{A",
    "a slash": b"X/A",
    "a backslash": b"X\\A",
    "a comma": b"X,A",
    "a semicolon": b"X;A",
    "an equals sign": b"X=A",
    "a question mark": b"X?A",
    "a quote": b'X"A',
    "an angle": b"X<A",
    "an underscore": b"X_A",
}
VALUES = {
    "a NUL": b"b\x00c",
    "a carriage return": b"b\rc",
    "a carriage return at the end": b"b\r",
    "a carriage return and a line": b"b\rX-B: c",
    "a line feed": b"b\nX-B: c",
    "a line feed at the start": b"\nb",
    "a fold of a space": b"b\r\n c",
    "a fold of a tab": b"b\r\n\tc",
    "a fold of nothing": b"b\r\n ",
    "a control byte": b"b\x01c",
    "a vertical tab": b"b\x0bc",
    "a DEL": b"b\x7fc",
    "an escape": b"b\x1bc",
}
HOSTS = {
    "nothing": b"",
    "spaces": b"   ",
    "a path": b"a.test/x",
    "a query": b"a.test?x",
    "a fragment": b"a.test#x",
    "a user": b"u@a.test",
    "a user and a password": b"u:p@a.test",
    "a space": b"a.test b.test",
    "a tab": b"a.test\tb.test",
    "a comma": b"a.test, b.test",
    "a comma and no space": b"a.test,b.test",
    "a backslash": b"a.test\\x",
    "a quote": b'"a.test"',
    "an angle": b"<a.test>",
    "a NUL": b"a.test\x00",
    "a letter above ASCII": "ä.test".encode(),
    "a port of words": b"a.test:http",
    "a port with a sign": b"a.test:+80",
    "a port that is too large": b"a.test:99999",
    "two ports": b"a.test:80:80",
    "a port and no name": b":80",
    "half a bracket": b"[::1",
    "a bracket and more": b"[::1]x",
    "a scheme": b"http://a.test",
    "a percent sign": b"a%00.test",
}


def hosts(name: str, value: bytes, *expected: Outcome) -> Case:
    """A GET whose host is this."""
    return case(f"host with {name}", ask(FIRST, b"Host: " + value), *expected)


def lines(count: int, width: int) -> bytes:
    """A GET with so many lines besides its host, of so many bytes each."""
    return get(*(b"X-%05d: %s" % (number, b"b" * (width - 9)) for number in range(count)))


CASES = (
    *(case(f"name with {name}", get(text + b": b")) for name, text in NAMES.items()),
    *(case(f"value with {name}", get(b"X-A: " + text)) for name, text in VALUES.items()),
    case("value with a byte above ASCII", get(b"X-A: b\xffc"), Passed(), Refused()),
    case(
        "value with a tab", get(b"X-Secret: b\tc"), Passed(has=(("x-secret", "b\tc"),)), Refused()
    ),
    case("value of nothing", get(b"X-A:"), Passed()),
    case("value with spaces around", get(b"X-Secret:   b  "), Passed(has=(("x-secret", "b"),))),
    case("value with a colon", get(b"X-Secret: b: c"), Passed(has=(("x-secret", "b: c"),))),
    case("a line without a colon", get(b"X-A")),
    case("a space before the first line", ask(FIRST, b" X-A: b", HOST)),
    case("a fold of the host", ask(FIRST, b"Host:", b" a.test")),
    case("all ends of LF", b"GET /case HTTP/1.1\nHost: a.test\n\n"),
    case("one end of LF", b"GET /case HTTP/1.1\r\nHost: a.test\nX-A: b\r\n\r\n"),
    case("a first line that ends in LF", b"GET /case HTTP/1.1\nHost: a.test\r\n\r\n"),
    case("a head that ends in LF", b"GET /case HTTP/1.1\r\nHost: a.test\r\n\n"),
    case("all ends of CR", b"GET /case HTTP/1.1\rHost: a.test\r\r\n\r\n"),
    case("a first line that ends in CR CR LF", b"GET /case HTTP/1.1\r\r\nHost: a.test\r\n\r\n"),
    case("a line that ends in CR CR LF", b"GET /case HTTP/1.1\r\nHost: a.test\r\r\nX-A: b\r\n\r\n"),
    case("a head that ends in CR CR LF", b"GET /case HTTP/1.1\r\nHost: a.test\r\n\r\r\n"),
    *(hosts(name, text) for name, text in HOSTS.items()),
    hosts("a port", b"a.test:8080", Passed(host="a.test:8080")),
    hosts("a number", b"192.0.2.1", Passed(host="192.0.2.1")),
    hosts("brackets", b"[2001:db8::1]:80", Passed(host="[2001:db8::1]:80"), Refused()),
    hosts("spaces around", b"  a.test  ", Passed(), Refused()),
    hosts("a dot at the end", b"a.test.", Passed(host="a.test."), Refused()),
    hosts("an empty port", b"a.test:", Passed(host="a.test:"), Passed(), Refused()),
    case("no host", ask(FIRST, b"X-A: b")),
    case("two hosts", ask(FIRST, HOST, b"Host: b.test")),
    case("two hosts that are one", ask(FIRST, HOST, HOST)),
    case("two hosts in two cases", ask(FIRST, HOST, b"hOST: a.test")),
    case("two hosts, one of nothing", ask(FIRST, HOST, b"Host:")),
    case("two hosts, the first of nothing", ask(FIRST, b"Host:", HOST)),
    case("no host of HTTP/1.0, then a host", ask(b"GET /case HTTP/1.0", b"Host:", HOST)),
    case("a host before a space", ask(FIRST, b"Host : a.test")),
    case("a host after a space", ask(FIRST, HOST, b" Host: b.test")),
    case("half a line", get()[:-2] + b"X-A: b", Left()),
    case("no empty line", get()[:-2], Left()),
    case("90 lines", lines(90, 40), Passed()),
    case("101 lines", lines(100, 40), Refused(431)),
    case("1000 lines", lines(1_000, 20), Refused(431)),
    case("a line of 30 KB", get(b"X-A: " + b"b" * 30_000), Passed()),
    case("a line of 70 KB", get(b"X-A: " + b"b" * 70_000), Refused(431)),
    case("a name of 70 KB", get(b"X" * 70_000 + b": b"), Refused(431)),
    case("80 lines of 70 KB", lines(80, 900), Refused(431)),
    case("a line of 70 KB without an end", get()[:-2] + b"X-A: " + b"b" * 70_000, Refused(431)),
)
