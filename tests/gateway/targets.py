"""First lines: methods, targets in all their forms, and versions."""

from __future__ import annotations

from tests.gateway.cases import (
    CHUNKED,
    HOST,
    Case,
    Outcome,
    Passed,
    Refused,
    ask,
    case,
    line,
)

UNKNOWN = (Refused(), Refused(501))
ONE = b"1\r\nx\r\n0\r\n"
UNVERSED = (Refused(), Refused(505))
ROOT = Passed(target="/")
# Refused by nginx itself, which looks into targets; they are to be passed as they are.
NGINX = ("nginx",)


def method(text: bytes, *expected: Outcome) -> Case:
    """A request of this method."""
    return case(
        f"method {text[:24].decode('latin-1')!r}", line(text + b" /case HTTP/1.1"), *expected
    )


def version(text: bytes, *expected: Outcome) -> Case:
    """A GET that says this of its protocol."""
    name = f"version {text.decode('latin-1')!r}"
    return case(name, line(b"GET /case " + text), *(expected or UNVERSED))


def target(text: bytes, *expected: Outcome, strange: tuple[str, ...] = ()) -> Case:
    """A GET of this target."""
    name = f"target {text[:32].decode('latin-1')!r}"
    return case(name, line(b"GET " + text + b" HTTP/1.1"), *expected, strange=strange)


def same(text: bytes, strange: tuple[str, ...] = ()) -> Case:
    """A GET of a target that goes on as it is."""
    return target(text, Passed(target=text.decode("latin-1")), strange=strange)


def either(text: bytes, strange: tuple[str, ...] = ()) -> Case:
    """A GET of a target that goes on as it is, or not at all."""
    return target(text, Passed(target=text.decode("latin-1")), Refused(), strange=strange)


CASES = (
    *(method(text, Passed(text.decode())) for text in (b"GET", b"PUT", b"PATCH", b"DELETE")),
    *(method(text, Passed(text.decode())) for text in (b"OPTIONS", b"HEAD", b"PROPFIND")),
    method(b"M-SEARCH", Passed("M-SEARCH"), *UNKNOWN),
    method(b"PURGE", Passed("PURGE"), *UNKNOWN),
    method(b"FROB", *UNKNOWN),
    method(b"get", *UNKNOWN),
    method(b"Get", *UNKNOWN),
    method(b"GETT", *UNKNOWN),
    method(b"G", *UNKNOWN),
    method(b"A" * 9_000, *UNKNOWN, Refused(414), Refused(431)),
    method(b""),
    method(b"G\x00ET"),
    method(b"GE T"),
    method(b"GET\t"),
    method(b"\x80GET"),
    method(b'"GET"', *UNKNOWN),
    method(b"\x16\x03\x01", *UNKNOWN),
    method(b"TRACE", Refused(405)),
    # Refused at its head, and all the rest comes with it.
    *(
        case(
            f"a refused request with a trailer of {name.decode()}",
            ask(b"TRACE /case HTTP/1.1", HOST, CHUNKED, body=ONE + name + b": 1\r\n\r\n"),
            Refused(405),
        )
        for name in (b"X-A", b"Expect", b"Host", b"Content-Length")
    ),
    case("connect", ask(b"CONNECT a.test:443 HTTP/1.1", b"Host: a.test:443"), Refused(501)),
    case("connect to a path", line(b"CONNECT /case HTTP/1.1"), Refused(501), Refused()),
    case("a preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", *UNVERSED, Refused(501)),
    version(b"HTTP/1.1", Passed()),
    version(b"HTTP/1.0", Passed()),
    version(b"HTTP/0.9"),
    version(b"HTTP/1.2"),
    version(b"HTTP/1.10"),
    version(b"HTTP/2.0"),
    version(b"HTTP/2"),
    version(b"HTTP/3.0"),
    version(b"HTTP/01.1"),
    version(b"HTTP/1,1"),
    version(b"HTTP/1.1x"),
    version(b"HTTP/ 1.1"),
    version(b"HTTP/+1.1"),
    version(b"http/1.1"),
    version(b"HTTP"),
    version(b"HTTQ/1.1"),
    version(b"FTP/1.1"),
    version(b"HTTP/1.1 "),
    version(b"HTTP/1.1\t"),
    version(b"HTTP/1.1 HTTP/1.1"),
    version(b"HTTP/1.1\x00"),
    version(b"HTTP/1.1;x"),
    version(b"ICE/1.0"),
    version(b"RTSP/1.0"),
    case("a source of ICE", line(b"SOURCE /case ICE/1.0"), *UNVERSED, Refused(501)),
    case("options of RTSP", line(b"OPTIONS /case RTSP/1.0"), *UNVERSED, Refused(501)),
    case("a description of RTSP", line(b"DESCRIBE /case RTSP/1.0"), *UNVERSED, Refused(501)),
    case("no version", b"GET /case\r\n\r\n", *UNVERSED),
    case("no version, and a host", line(b"GET /case"), *UNVERSED),
    case("no target", line(b"GET HTTP/1.1"), *UNVERSED),
    case("no target, and a space", line(b"GET  HTTP/1.1")),
    case("nothing but a method", line(b"GET")),
    case("two spaces before the target", line(b"GET  /case HTTP/1.1"), Passed(), Refused()),
    case("two spaces after the target", line(b"GET /case  HTTP/1.1"), Passed(), Refused()),
    case("tabs instead of spaces", line(b"GET\t/case\tHTTP/1.1")),
    case("a tab before the version", line(b"GET /case\tHTTP/1.1")),
    case("a vertical tab before the version", line(b"GET /case\x0bHTTP/1.1")),
    case("a space before the line", line(b" GET /case HTTP/1.1")),
    case("an empty line before", b"\r\n" + line(b"GET /case HTTP/1.1"), Passed(), Refused()),
    case("two empty lines before", b"\r\n\r\n" + line(b"GET /case HTTP/1.1"), Passed(), Refused()),
    case("an LF before", b"\n" + line(b"GET /case HTTP/1.1"), Passed(), Refused()),
    case("a CR before", b"\r" + line(b"GET /case HTTP/1.1"), Passed(), Refused()),
    case("a NUL before", b"\x00" + line(b"GET /case HTTP/1.1")),
    case("a mark of the byte order before", b"\xef\xbb\xbf" + line(b"GET /case HTTP/1.1")),
    *map(same, (b"/", b"//b.test/x", b"/a//b", b"/a%2Fb", b"/...", b"/a..b")),
    *map(
        same, (b"/a%20b?c=%26&d=%23", b"/%C3%A4", b"/%c3%a4", b"/;a=b", b"/a?b?c=//d", b"/a?x=y:z")
    ),
    *map(same, (b"/%0d%0aX-A:%20b", b"/http://b.test/", b"/a@b:c", b"/~a!$&'()*+,;=")),
    *map(either, (b"/a/../b", b"/a/./b", b"/a/%2e%2e/b", b"/a/..;/b", b"/a/%2E./b", b"/a/..%2fb")),
    either(b"/../a", NGINX),
    either(b"/%2e%2e/a", NGINX),
    either(b"/..\\a", NGINX),
    same(b"/a%00b", NGINX),
    same(b"/100%", NGINX),
    same(b"/%zz", NGINX),
    *map(either, (b"/a\\b", b"/a\\..\\b", b"/a|b", b"/a?b=^`{}", b'/a?"b"', b"/<a>")),
    target(b"/a b"),
    target(b"/a\tb"),
    target(b"/a\x0bb"),
    target(b"/a\x00b"),
    target(b"/a\x01b"),
    target(b"/a\x7fb"),
    target(b"/a\rb"),
    target(b"/a\nb"),
    target(b"/a\xffb"),
    target("/ä".encode()),
    target(b"/a?b=\xff"),
    target(b"/a#b"),
    target(b"/a?b#c"),
    target(b"#"),
    target(b"case"),
    target(b"?a=b"),
    target(b"*"),
    target(b"a.test:80"),
    target(b"a.test"),
    target(b"\\case"),
    target(b"http://a.test/case", Passed()),
    target(b"http://a.test", ROOT),
    target(b"http://a.test/", ROOT),
    target(b"http://a.test/a?b=http://b.test/", Passed(target="/a?b=http://b.test/")),
    target(b"http://a.test?b=c", Passed(target="/?b=c"), Refused()),
    target(b"http://A.TEST/case", Passed(), Passed(host="A.TEST"), Refused()),
    target(b"HTTP://a.test/case", Passed(), Refused()),
    target(b"https://a.test/case", Passed(), Refused()),
    target(b"http://a.test:80/case", Passed(), Passed(host="a.test:80"), Refused()),
    target(b"http://a.test:81/case"),
    target(b"http://b.test/case"),
    target(b"http://a.test.b.test/case"),
    target(b"http://u@a.test/case"),
    target(b"http://u:p@a.test/case"),
    target(b"http://a.test@b.test/case"),
    target(b"http://b.test@a.test/case"),
    target(b"http://a.test\\@b.test/case"),
    target(b"http://a.test#@b.test/case"),
    target(b"http://b.test#a.test/case"),
    target(b"http:///case"),
    target(b"http:/case"),
    target(b"http:case"),
    target(b"http://"),
    target(b"http://a.test:/case", Passed(), Refused()),
    target(b"http://a.test:x/case"),
    target(b"http://a.te st/case"),
    target(b"ftp://a.test/case"),
    target(b"file:///etc/passwd"),
    target(b"javascript:alert(1)"),
    case(
        "a whole address with a port",
        ask(b"GET http://a.test:8080/case HTTP/1.1", b"Host: a.test:8080"),
        Passed(host="a.test:8080"),
    ),
    case("a whole address and no host", ask(b"GET http://a.test/case HTTP/1.1")),
    case("a whole address and two hosts", ask(b"GET http://a.test/case HTTP/1.1", HOST, HOST)),
    case("a star of options", line(b"OPTIONS * HTTP/1.1"), Passed("OPTIONS", "*"), strange=NGINX),
    case("a star of POST", line(b"POST * HTTP/1.1")),
    case("a star and more", line(b"OPTIONS *x HTTP/1.1")),
    case(
        "a target of 7 KB",
        line(b"GET /" + b"a" * 7_000 + b" HTTP/1.1"),
        Passed(target="/" + "a" * 7_000),
    ),
    case("a target of 70 KB", line(b"GET /" + b"a" * 70_000 + b" HTTP/1.1"), Refused(414)),
    case("a target of 70 KB without an end", b"GET /" + b"a" * 70_000, Refused(414)),
)
