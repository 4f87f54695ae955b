"""Chain: which address is seen at the end of a chain of proxies, and whether a client chooses it.

An echo stands behind the proxies. It is asked as an honest client asks, and then as one that says
in every header it knows that it is somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from headgate.doctor.echo import MARK
from headgate.doctor.finding import BAD, DOUBT, GOOD, Finding
from headgate.rules.clients.address import parse, spell

PATIENCE = 10.0
LARGEST = 65_536
# Addresses of documentation, which nobody has.
FORGED = ("198.51.100.99", "198.51.100.98", "198.51.100.97")
SINGLE = ("X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "X-Client-IP", "Fastly-Client-IP")


class Unheard(Exception):
    """No echo has answered; says what there was instead."""


def probe(url: str, expect: str = "") -> Iterator[Finding]:
    """What is seen of a client that asks there; it should be `expect`, if that is said."""
    try:
        honest = ask(url, {})
        forged = [ask(url, headers(FORGED[:count])) for count in (1, 2, len(FORGED))]
    except (OSError, HTTPException, Unheard, ValueError) as problem:
        yield Finding("chain.reach", BAD, url, str(problem) or type(problem).__name__)
        return
    yield Finding("chain.reach", GOOD, url, "an echo answers")
    yield believed(url, honest, forged)
    yield seen(url, honest, expect)


def headers(addresses: tuple[str, ...]) -> dict[str, str]:
    """Headers of somebody who says that they are others."""
    return {
        "X-Forwarded-For": ", ".join(addresses),
        "Forwarded": ", ".join(f"for={one}" for one in addresses),
        **dict.fromkeys(SINGLE, addresses[0]),
    }


def ask(url: str, said: dict[str, str]) -> dict[str, Any]:
    """What the echo says of a request with these headers."""
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise ValueError(f'"{url}" is no address of a chain; write one such as https://a.example/')
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    line = kind(place.hostname, place.port, timeout=PATIENCE)
    try:
        target = (place.path or "/") + (f"?{place.query}" if place.query else "")
        line.request("GET", target, headers={**said, "Connection": "close"})
        # What is left unread keeps the connection, and nobody would say when it is let go.
        with line.getresponse() as answer:
            status, body = answer.status, answer.read(LARGEST)
    finally:
        line.close()
    found: Any = None
    with suppress(ValueError):
        found = json.loads(body)
    if not isinstance(found, dict) or found.get("answers") != MARK:
        raise Unheard(f"there answers something else, with {status}, and no echo")
    return found


def believed(url: str, honest: dict[str, Any], forged: list[dict[str, Any]]) -> Finding:
    """Whether what a client says of itself changes who it is taken for."""
    for one in forged:
        address = one["client"]["address"]
        if address != honest["client"]["address"]:
            found = (
                f"a client that says it is {address} in {one['header']} is taken for that; "
                f"{walked(one)}"
            )
            return Finding("chain.spoof", BAD, url, found)
    found = f"whatever a client says, it is {honest['client']['address'] or 'local'}"
    return Finding("chain.spoof", GOOD, url, found)


def seen(url: str, honest: dict[str, Any], expect: str) -> Finding:
    """Whether the address that is seen is that of the client."""
    address = honest["client"]["address"]
    found = f"{address or 'no address'} is seen; {walked(honest)}"
    if expect:
        same = plain(expect) == plain(address)
        said = found if same else f"{found}; it should be {expect}"
        return Finding("chain.seen", GOOD if same else BAD, url, said)
    ignored = len(honest["client"]["hops"]) > 1 and not honest["client"]["hops"][0]["believed"]
    if ignored:
        return Finding("chain.seen", DOUBT, url, f"{found}: is that a proxy of yours?")
    return Finding("chain.seen", GOOD, url, found)


def walked(one: dict[str, Any]) -> str:
    """The hops, in few words."""
    return ", ".join(f"{hop['address'] or 'it'} {hop['why']}" for hop in one["client"]["hops"])


def plain(address: str) -> str:
    """An address in its one spelling."""
    number = parse(address)
    return address if number is None else spell(number)
