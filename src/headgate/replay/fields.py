"""Fields: what a line of JSON calls the things that a log tells, in which unit, and where.

Names are looked for as they stand, in any case, also inside of objects (`request.uri`). Where one
name means two things, who wrote the line is told by what else stands in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headgate.replay.words import (
    FORWARDED,
    HOST,
    METHOD,
    MICROSECONDS,
    MILLISECONDS,
    PEER,
    QUERY,
    REQUEST,
    SCHEME,
    SECONDS,
    SIZE,
    STATUS,
    TARGET,
    TIME,
    TOOK,
    USER,
    headed,
)

# Thousands of these are a microsecond.
NANOSECONDS = 0

# The first of each that is there counts.
SPELLED: dict[int, tuple[str, ...]] = {
    TIME: (
        "start_time", "startutc", "msec", "time_iso8601", "time_local", "ts", "time", "timestamp",
        "@timestamp", "datetime", "date", "time_unix", "receivetimestamp",
    ),
    REQUEST: ("request", "request_line", "requestline"),
    METHOD: (
        "method", "request_method", "requestmethod", "http_method", "verb", "request.method",
        "http.request.method", "httprequest.requestmethod", ":method",
    ),
    TARGET: (
        "uri", "request_uri", "requesturi", "path", "request_path",
        "requestpath", "url", "request.uri", "request.url", "http.target", "url.original",
        "url.path", "httprequest.requesturl", ":path",
    ),
    QUERY: ("args", "query_string", "query", "url.query"),
    HOST: (
        "host", "http_host", "authority", ":authority", "request_host", "requesthost",
        "server_name", "request.host", "url.domain",
    ),
    SCHEME: ("scheme", "request_scheme", "requestscheme", "url.scheme"),
    PEER: (
        "remote_addr", "remote_ip", "request.remote_ip", "downstream_remote_address", "clienthost",
        "clientaddr", "client_ip", "clientip", "client", "remote_host", "source.ip", "client.ip",
        "ip", "httprequest.remoteip", "request.client_ip",
    ),
    FORWARDED: (
        "http_x_forwarded_for", "x_forwarded_for", "x-forwarded-for", "forwarded_for", "xff",
    ),
    STATUS: (
        "status", "status_code", "statuscode", "response_code", "http_status", "downstreamstatus",
        "response.status", "http.response.status_code", "httprequest.status", "code",
    ),
    SIZE: (
        "body_bytes_sent", "bytes_sent", "size", "bytes", "response_size", "downstreamcontentsize",
        "http.response.body.bytes", "httprequest.responsesize", "resp_size",
    ),
    TOOK: (
        "request_time", "duration_ms", "duration_us", "duration_s", "latency_ms", "latency_us",
        "response_time_ms", "elapsed_ms", "took_ms", "duration", "latency", "response_time",
        "elapsed", "took", "event.duration", "httprequest.latency",
    ),
    USER: ("remote_user", "user", "user_id", "clientusername", "user.name"),
}  # fmt: skip
# Of what begins so, the time is that of the beginning; else a line is written at the end.
BEGINS = ("start_time", "startutc")
# Names that only who measures in these units writes beside a duration.
WRITERS = {
    "response_flags": MILLISECONDS,
    "start_time": MILLISECONDS,
    "startutc": NANOSECONDS,
    "event.duration": NANOSECONDS,
    "latency_human": NANOSECONDS,
}
SUFFIXES = {"_ms": MILLISECONDS, "_us": MICROSECONDS, "_ns": NANOSECONDS}
HEADS = ("headers", "request_headers", "request.headers", "http.request.headers")


class Field(NamedTuple):
    """Where a value stands, and in which unit."""

    path: tuple[str, ...]
    unit: int = SECONDS


class Layout(NamedTuple):
    """Where everything stands in lines like one that was looked at."""

    fields: dict[int, Field]
    headers: dict[str, tuple[str, ...]]
    # An object that has all headers by their names.
    heads: tuple[str, ...]
    ends: bool


def layout(line: dict[str, Any]) -> Layout:
    """Where everything stands in lines such as this one."""
    known = {".".join(path).lower(): path for path in paths(line)}
    found: dict[int, Field] = {}
    for kind, names in SPELLED.items():
        name = next((one for one in names if one in known), "")
        if name:
            found[kind] = Field(known[name], measure(name, known) if kind == TOOK else SECONDS)
    if not isinstance(value(line, found[REQUEST].path) if REQUEST in found else None, str):
        found.pop(REQUEST, None)
    headers = {
        headed(name.removeprefix("http_")): path
        for name, path in known.items()
        if name.startswith("http_")
        and "." not in name
        and path not in {f.path for f in found.values()}
    }
    heads = next((known[name] for name in HEADS if name in known), ())
    begins = TIME in found and ".".join(found[TIME].path).lower() in BEGINS
    return Layout(found, headers, heads, not begins)


def paths(line: dict[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The ways to all that stands in it, up to three objects deep; those nearer first."""
    here = [(*before, name) for name in line]
    for name, inner in line.items():
        if isinstance(inner, dict) and len(before) < 3:
            here += paths(inner, (*before, name))
    return here


def measure(name: str, known: dict[str, tuple[str, ...]]) -> int:
    """What a duration of that name counts in."""
    for suffix, unit in SUFFIXES.items():
        if name.endswith(suffix):
            return unit
    if name in ("request_time", "httprequest.latency"):
        return SECONDS
    return next((unit for writer, unit in WRITERS.items() if writer in known), SECONDS)


def value(line: Any, path: tuple[str, ...]) -> Any:
    """What stands there, or None."""
    for name in path:
        if not isinstance(line, dict):
            return None
        line = line.get(name)
    return line
