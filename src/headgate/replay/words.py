"""Words: what a log's values are called in each format, and how they were escaped."""

from __future__ import annotations

import re

# What a field of a line may be.
SKIP, TIME, REQUEST, METHOD, TARGET, QUERY, HOST, SCHEME = range(8)
PEER, FORWARDED, STATUS, SIZE, TOOK, USER, HEADER = range(8, 15)
NAMES = (
    "nothing", "time", "request", "method", "path", "query", "host", "scheme", "client",
    "x-forwarded-for", "status", "size", "duration", "user", "header",
)  # fmt: skip

# How many microseconds a duration counts in.
SECONDS, MILLISECONDS, MICROSECONDS = 1_000_000, 1000, 1

NGINX = {
    "remote_addr": PEER, "realip_remote_addr": SKIP, "http_x_forwarded_for": FORWARDED,
    "remote_user": USER, "time_local": TIME, "time_iso8601": TIME, "msec": TIME,
    "request": REQUEST, "request_method": METHOD, "request_uri": TARGET, "uri": TARGET,
    "document_uri": TARGET, "args": QUERY, "query_string": QUERY, "host": HOST, "http_host": HOST,
    "server_name": HOST, "scheme": SCHEME, "status": STATUS, "body_bytes_sent": SIZE,
    "bytes_sent": SIZE, "request_time": TOOK,
}  # fmt: skip
APACHE = {
    "h": PEER, "a": PEER, "u": USER, "t": TIME, "r": REQUEST, "m": METHOD, "U": TARGET, "q": QUERY,
    "v": HOST, "V": HOST, "s": STATUS, "b": SIZE, "B": SIZE, "O": SIZE, "D": TOOK, "T": TOOK,
}  # fmt: skip
ENVOY = {
    "START_TIME": TIME, "REQ(:METHOD)": METHOD, "REQ(:PATH)": TARGET,
    "REQ(X-ENVOY-ORIGINAL-PATH)": TARGET, "REQ(X-FORWARDED-FOR)": FORWARDED,
    "REQ(:AUTHORITY)": HOST, "REQ(:SCHEME)": SCHEME, "RESPONSE_CODE": STATUS, "BYTES_SENT": SIZE,
    "DURATION": TOOK, "DOWNSTREAM_REMOTE_ADDRESS": PEER,
    "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": PEER, "DOWNSTREAM_DIRECT_REMOTE_ADDRESS": PEER,
    "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT": PEER,
}  # fmt: skip

# What nginx and Apache write where a character would break the line.
ESCAPED = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|(.))", re.DOTALL)
CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"b": b"\b", b"f": b"\f"}


def plain(said: bytes) -> bytes:
    """A value as it was before it was escaped for the log."""
    return ESCAPED.sub(original, said) if b"\\" in said else said


def original(found: re.Match[bytes]) -> bytes:
    """The byte that stands behind an escape."""
    digits = found[1] or found[2]
    return bytes.fromhex(digits.decode()) if digits else CONTROLS.get(found[3], found[3])


def headed(name: str) -> str:
    """The header that a variable is about, as rules name it."""
    return name.lower().replace("_", "-")
