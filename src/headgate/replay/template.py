"""Templates: how a server was told to write its lines, in the server's own spelling.

    $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent     nginx
    %h %l %u %t "%r" %>s %b                                                           Apache
    [%START_TIME%] "%REQ(:METHOD)% %REQ(:PATH)% %PROTOCOL%" %RESPONSE_CODE%           Envoy

A value ends where the text behind it begins, so something has to stand between any two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headgate.replay.words import (
    APACHE,
    ENVOY,
    FORWARDED,
    HEADER,
    HOST,
    MICROSECONDS,
    MILLISECONDS,
    NAMES,
    NGINX,
    REQUEST,
    SECONDS,
    SKIP,
    TARGET,
    TIME,
    headed,
)

VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
OPERATOR = re.compile(r"%([A-Z][A-Z_0-9]+)(?:\(((?:[^()]|\([^()]*\))*)\))?(?::\d+)?%")
DIRECTIVE = re.compile(r"%[<>]?(?:!?\d+(?:,\d+)*)?(?:\{([^}]*)\})?[<>]?([a-zA-Z%])")
# What of a directive's braces is about the length of time.
UNITS = {"": SECONDS, "s": SECONDS, "ms": MILLISECONDS, "us": MICROSECONDS}


class Piece(NamedTuple):
    """A value of a line: what it is, of which name and unit, and the text behind it."""

    kind: int
    name: str = ""
    unit: int = SECONDS
    mark: bytes = b""


class Template(NamedTuple):
    """A line: the text it begins with, its values, and whether its time is that of the answer."""

    label: str
    start: bytes
    pieces: tuple[Piece, ...]
    ends: bool

    @property
    def told(self) -> list[str]:
        """What such a line tells of a request."""
        found = [one.name if one.kind == HEADER else NAMES[one.kind] for one in self.pieces]
        return [*dict.fromkeys(word for word in found if word != NAMES[SKIP])]

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that it has."""
        return tuple(one.name for one in self.pieces if one.kind == HEADER)


def template(text: str, label: str = "") -> Template:
    """The template of this spelling; a ValueError says what is wrong with it."""
    said = text.rstrip("\r\n").removesuffix("\\n")
    if VARIABLE.search(said):
        parts, ends = [*variables(said)], True
    elif OPERATOR.search(said):
        parts, ends = [*operators(said)], False
    else:
        parts, ends = [*directives(said)], False
    start, pieces = joined(parts)
    kinds = {piece.kind for piece in pieces}
    if TIME not in kinds:
        raise ValueError(
            f'format "{said}": no time stands in it; try $time_local, %t or %START_TIME%'
        )
    if not kinds & {REQUEST, TARGET}:
        raise ValueError(
            f'format "{said}": no request stands in it; try $request, %r or %REQ(:PATH)%'
        )
    return Template(label or said, start, pieces, ends)


Part = Piece | str


def joined(parts: list[Part]) -> tuple[bytes, tuple[Piece, ...]]:
    """What it begins with, and each value with the text behind it."""
    start, pieces = "", [Piece(SKIP)][:0]
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if not pieces:
            start = text
        elif not text:
            raise ValueError(
                f"format: nothing stands between {said(pieces[-1])} and {said(part)}, so nobody "
                "can tell where one ends"
            )
        else:
            pieces[-1] = pieces[-1]._replace(mark=text.encode())
        pieces.append(part)
        text = ""
    if pieces:
        pieces[-1] = pieces[-1]._replace(mark=text.encode())
    return start.encode(), tuple(pieces)


def said(piece: Piece) -> str:
    return piece.name or NAMES[piece.kind]


def between(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str] | str]:
    """What fits the pattern, and what stands between."""
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            yield text[at : found.start()]
        yield found
        at = found.end()
    if at < len(text):
        yield text[at:]


def variables(text: str) -> Iterator[Part]:
    """As nginx spells it."""
    for found in between(VARIABLE, text):
        if isinstance(found, str):
            yield found
            continue
        name = found[1] or found[2]
        kind = NGINX.get(name, HEADER if name.startswith("http_") else SKIP)
        if name.startswith("cookie_"):
            yield Piece(HEADER, f"cookie.{name.removeprefix('cookie_')}")
        else:
            yield Piece(kind, headed(name.removeprefix("http_")) if kind == HEADER else "")


def operators(text: str) -> Iterator[Part]:
    """As Envoy spells it."""
    for found in between(OPERATOR, text):
        if isinstance(found, str):
            yield found
            continue
        name, argument = found[1], (found[2] or "").upper()
        if name != "REQ":
            yield Piece(ENVOY.get(name, SKIP), "", MILLISECONDS)
            continue
        # Of two headers the first is written that is there: both are the same to who reads.
        first = argument.partition("?")[0]
        kind = ENVOY.get(f"REQ({first})", SKIP if first.startswith(":") else HEADER)
        yield Piece(kind, first.lower() if kind == HEADER else "")


def directives(text: str) -> Iterator[Part]:
    """As Apache spells it."""
    for found in between(DIRECTIVE, text):
        if isinstance(found, str):
            yield found
            continue
        inner, letter = found[1] or "", found[2]
        if letter == "%":
            yield "%"
        elif letter == "t" and not inner:
            yield from ("[", Piece(TIME), "]")
        else:
            yield directive(inner, letter)


def directive(inner: str, letter: str) -> Piece:
    """One of Apache's values."""
    if letter == "i":
        name = headed(inner)
        known = {"x-forwarded-for": FORWARDED, "host": HOST}.get(name, HEADER)
        return Piece(known, name if known == HEADER else "")
    if letter == "C":
        return Piece(HEADER, f"cookie.{inner}")
    unit = MICROSECONDS if letter == "D" else UNITS.get(inner, SECONDS)
    return Piece(APACHE.get(letter, SKIP), "", unit)


COMMON = '$remote_addr $remote_ident $remote_user [$time_local] "$request" $status $body_bytes_sent'
COMBINED = f'{COMMON} "$http_referer" "$http_user_agent"'
# As Envoy writes where it was not told otherwise; older releases know fewer values.
PLAIN_ENVOY = (
    '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" '
    "%RESPONSE_CODE% %RESPONSE_FLAGS% "
)
TAIL_ENVOY = (
    "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "
    '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" '
    '"%UPSTREAM_HOST%"'
)
DETAILS_ENVOY = (
    "%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "
    '"%UPSTREAM_TRANSPORT_FAILURE_REASON%" '
)
KNOWN = {
    "combined": COMBINED,
    "common": COMMON,
    "vhost": f"$host:$server_port {COMBINED}",
    "envoy": PLAIN_ENVOY + TAIL_ENVOY,
    "istio": PLAIN_ENVOY + DETAILS_ENVOY + TAIL_ENVOY,
}
ALSO = {
    "nginx": "combined",
    "apache": "combined",
    "clf": "common",
    "caddy": "json",
    "audit": "json",
}
