"""Lines as servers write them, and the requests that are read from them."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.replay.detect import detect
from headgate.replay.lines import Lines
from headgate.replay.stamps import moment
from headgate.replay.template import template

UTC = 1_760_104_536_000_000  # 2025-10-10T13:55:36Z

COMMON = b'127.0.0.1 - frank [10/Oct/2025:13:55:36 +0000] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = COMMON + b' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
ENVOY = (
    b'[2025-10-10T13:55:36.120Z] "POST /api/v1/locations?near=1 HTTP/2" 204 - 154 0 226 100 '
    b'"10.0.35.28, 192.0.2.1" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" '
    b'"tcp://10.0.2.1:80"'
)
ISTIO = (
    b'[2025-10-10T13:55:36.120Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 5 2 '
    b'"-" "curl/7.60.0" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "10.44.1.27:80"'
)
CADDY = (
    b'{"level":"info","ts":1760104536.5,"logger":"http.log.access","msg":"handled request",'
    b'"request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1",'
    b'"proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a%20b?q=1","headers":'
    b'{"User-Agent":["curl/7.82.0"],"X-Api-Key":["k7"],"X-Forwarded-For":["203.0.113.9"]}},'
    b'"bytes_read":0,"user_id":"ada","duration":0.5,"size":10900,"status":200,"resp_headers":'
    b'{"Server":["Caddy"]}}'
)
NGINX_JSON = (
    b'{"time_iso8601":"2025-10-10T15:55:36+02:00","remote_addr":"203.0.113.7","request":'
    b'"GET /x HTTP/1.1","status":"429","body_bytes_sent":"162","request_time":"0.250",'
    b'"http_x_api_key":"k7","http_x_forwarded_for":"-","host":"shop.example"}'
)
ENVOY_JSON = (
    b'{"start_time":"2025-10-10T13:55:36.000Z","method":"GET","path":"/y","response_code":200,'
    b'"response_flags":"-","bytes_sent":5,"duration":250,"downstream_remote_address":'
    b'"203.0.113.7:5123","x_forwarded_for":"198.51.100.1","authority":"shop.example"}'
)
ECHO = (
    b'{"time":"2025-10-10T13:55:36.250Z","id":"","remote_ip":"203.0.113.7","host":"shop.example",'
    b'"method":"GET","uri":"/z","user_agent":"curl","status":200,"error":"","latency":250000000,'
    b'"latency_human":"250ms","bytes_in":0,"bytes_out":5}'
)
AUDIT = (
    b'{"time": "2025-10-10T13:55:36.120000+00:00", "decision": "ab", "rule": "api", "kind": '
    b'"limit", "status": 429, "client": "203.0.113.7", "method": "GET", "host": "shop.example", '
    b'"path": "/v1", "retry_after": 1.5, "version": "6e1f"}'
)


def read(line: bytes, form: str = "") -> tuple[str, Any]:
    """What format it is in, and the one request."""
    found = detect([line], form)
    (hit,) = Lines(found.reader(None)).feed(line + b"\n")
    return found.label, hit


# What the format is called, and what is said beside what nothing tells otherwise.
APACHE = {"path": "/apache_pb.gif", "peer": "127.0.0.1", "user": "frank", "size": 2326}
SHOP = {"host": "shop.example", "peer": "203.0.113.7"}
TABLE: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "common": (COMMON, "common", APACHE),
    "combined": (COMBINED, "combined", APACHE),
    "nginx main": (
        COMBINED + b' "203.0.113.9, 10.0.0.2"',
        "combined with http_x_forwarded_for",
        {**APACHE, "forwarded": "203.0.113.9, 10.0.0.2"},
    ),
    "nginx with more": (
        COMBINED + b' "-" 1.500 shop.example 0.2',
        "combined with request_time, host",
        {**APACHE, "at": UTC - 1_500_000, "took": 1_500_000, "host": "shop.example"},
    ),
    "vhost": (b"shop.example:443 " + COMBINED, "vhost", {**APACHE, "host": "shop.example"}),
    "envoy": (
        ENVOY,
        "envoy",
        {
            "at": UTC + 120_000, "took": 226_000, "method": "POST", "path": "/api/v1/locations",
            "query": "near=1", "host": "locations", "forwarded": "10.0.35.28, 192.0.2.1",
            "status": 204,
        },
    ),
    "istio": (
        ISTIO,
        "istio",
        {
            "at": UTC + 120_000, "took": 5000, "path": "/status/418", "host": "httpbin:8000",
            "status": 418, "size": 135,
        },
    ),
    "caddy": (
        CADDY,
        "json (Caddy)",
        {
            "took": 500_000, "path": "/a b", "query": "q=1", "host": "localhost",
            "peer": "127.0.0.1", "forwarded": "203.0.113.9", "size": 10900, "user": "ada",
        },
    ),
    "nginx json": (
        NGINX_JSON,
        "json",
        {**SHOP, "at": UTC - 250_000, "took": 250_000, "path": "/x", "status": 429, "size": 162},
    ),
    "envoy json": (
        ENVOY_JSON,
        "json",
        {
            **SHOP, "took": 250_000, "path": "/y", "peer": "203.0.113.7:5123",
            "forwarded": "198.51.100.1", "size": 5,
        },
    ),
    "echo": (ECHO, "json", {**SHOP, "at": UTC, "took": 250_000, "path": "/z"}),
    "numbers beyond all measure": (
        b'{"ts":1.760104536e18,"method":"GET","uri":"/","status":200,"duration":9e14}',
        "json",
        {},
    ),
    "our own audit": (
        AUDIT, "json", {**SHOP, "at": UTC + 120_000, "path": "/v1", "status": 429}
    ),
}  # fmt: skip
PLAIN = {
    "at": UTC, "took": -1, "method": "GET", "path": "/", "query": "", "host": "", "peer": "",
    "forwarded": "", "status": 200, "size": 0, "user": "",
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_line_is_read_as_its_server_means_it(name: str) -> None:
    line, format_, said = TABLE[name]

    label, hit = read(line)

    found = {
        word: getattr(hit.spot if word in ("method", "path", "query") else hit, word)
        for word in PLAIN
    }
    assert (label, found) == (format_, {**PLAIN, **said})


def test_headers_have_the_names_that_rules_use() -> None:
    assert read(CADDY)[1].headers == {
        "user-agent": "curl/7.82.0", "x-api-key": "k7", "x-forwarded-for": "203.0.113.9"
    }  # fmt: skip
    assert read(NGINX_JSON)[1].headers == {"x-api-key": "k7"}
    assert read(COMBINED)[1].headers == {
        "referer": "http://www.example.com/start.html",
        "user-agent": "Mozilla/4.08 [en] (Win98; I ;Nav)",
    }


def test_only_what_rules_ask_for_is_read() -> None:
    found = detect([COMBINED])
    (hit,) = Lines(found.reader(frozenset({"referer"}))).feed(COMBINED + b"\n")

    assert (hit.headers, hit.user) == ({"referer": "http://www.example.com/start.html"}, "")


@pytest.mark.parametrize(
    ("form", "line", "wanted"),
    [
        (
            '$msec $remote_addr "$request_method $request_uri" "$http_x_api_key" $cookie_sid',
            b'1760104536.250 ::1 "GET /a?b=c" "k7" s1',
            (UTC + 250_000, "GET", "/a", "b=c", "::1", {"x-api-key": "k7", "cookie": "sid=s1"}),
        ),
        (
            '%h %l %u %t "%r" %>s %b %D "%{X-Api-Key}i"',
            b'::1 - - [10/Oct/2025:06:55:36 -0700] "GET /a HTTP/1.1" 200 - 1500 "k7"',
            (UTC, "GET", "/a", "", "::1", {"x-api-key": "k7"}),
        ),
        (
            "%START_TIME% %REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% "
            "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %REQ(X-API-KEY)%\\n",
            b"2025-10-10T13:55:36Z GET /a?b 10.0.0.1 k7",
            (UTC, "GET", "/a", "b", "10.0.0.1", {"x-api-key": "k7"}),
        ),
    ],
    ids=["nginx", "apache", "envoy"],
)
def test_a_format_can_be_given_as_the_server_has_it(form: str, line: bytes, wanted: Any) -> None:
    _, hit = read(line, form)

    spot = hit.spot
    assert (hit.at, spot.method, spot.path, spot.query, hit.peer, hit.headers) == wanted


def test_a_quote_that_was_escaped_ends_no_value() -> None:
    line = COMMON.replace(b"/apache_pb.gif", rb"/a\"b\x22c") + rb' "-" "say \"hi\" \\"'

    _, hit = read(line)

    assert hit.spot.path == '/a"b"c'
    assert hit.headers == {"user-agent": 'say "hi" \\'}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"10/Oct/2025:13:55:36 +0000", UTC),
        (b"10/Oct/2025:06:55:36 -0700", UTC),
        (b"10/Oct/2025:19:25:36 +0530", UTC),
        (b"10/Oct/2025:13:55:36.250 +0000", UTC + 250_000),
        (b"2025-10-10T13:55:36Z", UTC),
        (b"2025-10-10 15:55:36,120+02:00", UTC + 120_000),
        (b"2025-10-10T13:55:36.123456789Z", UTC + 123_456),
        (b"1760104536", UTC),
        (b"1760104536.5", UTC + 500_000),
        (b"1760104536500", UTC + 500_000),
        (b"1760104536500000", UTC + 500_000),
        (b"1760104536500000000", UTC + 500_000),
        (b"29/Feb/2024:00:00:00 +0000", 1_709_164_800_000_000),
        (b"2000-03-01T00:00:00Z", 951_868_800_000_000),
    ],
)
def test_a_stamp_is_read_in_its_zone(text: bytes, wanted: int) -> None:
    assert moment(text) == wanted


@pytest.mark.parametrize(
    "text",
    [b"", b"-", b"yesterday", b"10/Okt/2025:13:55:36 +0000", b"2025-13-10T13:55:36Z",
     b"2025-10-10T25:55:36Z", b"2025-10-10T13:55:36 CEST", b"12", b"1760104536.5.5"],
)  # fmt: skip
def test_what_is_no_stamp_is_never(text: bytes) -> None:
    assert moment(text) == -1


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (
            "combinde",
            'format "combinde" is not known; there are apache, audit, caddy, clf, combined, '
            "common, envoy, istio, json, nginx, vhost, or the log_format of the server",
        ),
        (
            "$remote_addr $request",
            'format "$remote_addr $request": no time stands in it; try $time_local, %t or '
            "%START_TIME%",
        ),
        (
            "$time_local $status",
            'format "$time_local $status": no request stands in it; try $request, %r or '
            "%REQ(:PATH)%",
        ),
        (
            "$time_local$request",
            "format: nothing stands between time and request, so nobody can tell where one ends",
        ),
    ],
)
def test_a_format_that_cannot_be_is_refused(form: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        detect([COMMON], form)

    assert str(caught.value) == message


def test_lines_that_fit_nothing_are_shown() -> None:
    with pytest.raises(ValueError) as caught:
        detect([b"Oct 10 13:55:36 host sshd[1]: hello"])

    assert str(caught.value) == (
        "no format that is known here fits its first lines, the first of which is 'Oct 10 13:55:36 "
        "host sshd[1]: hello'; say which it is, or what the server's log_format is, with --format"
    )


def test_broken_lines_are_counted_and_shown_with_their_numbers() -> None:
    lines = Lines(detect([COMMON]).reader(None))

    hits = lines.feed(
        COMMON
        + b"\r\n\nbroken\n"
        + COMMON.replace(b"GET /apache_pb.gif HTTP/1.0", b"\\x16\\x03")
        + b"\n"
        + COMMON
    )

    assert (len(hits), len(lines.close())) == (1, 1)
    assert (lines.number, lines.broken, lines.asides) == (5, 1, 1)
    assert lines.examples == [(3, "broken")]


def test_a_line_may_come_in_pieces() -> None:
    lines = Lines(detect([COMMON]).reader(None))
    data = (COMMON + b"\n") * 3

    hits = [hit for at in range(0, len(data), 7) for hit in lines.feed(data[at : at + 7])]

    assert ([hit.at for hit in hits], lines.close(), lines.broken) == ([UTC] * 3, [], 0)


def test_what_never_ends_is_one_broken_line() -> None:
    lines = Lines(detect([COMMON]).reader(None))

    for _ in range(5):
        lines.feed(b"x" * (1 << 19))
    hits = lines.feed(b"\n" + COMMON + b"\n")

    assert (len(hits), lines.number, lines.broken) == (1, 2, 1)


def test_a_template_knows_what_it_tells() -> None:
    found = template('%h %t "%r" %{X-Api-Key}i')

    assert (found.told, found.headers) == (
        ["client", "time", "request", "x-api-key"],
        ("x-api-key",),
    )
