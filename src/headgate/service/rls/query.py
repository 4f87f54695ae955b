"""Query: what one call asks, read off the wire and held to bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from headgate.intake import CEILING
from headgate.service.grpc.status import INVALID_ARGUMENT, Status
from headgate.service.rls.domains import SECONDS
from headgate.service.rls.messages import UNITS, Heard
from headgate.service.rls.tree import Entry

# More descriptors than a route has, and more entries than anybody configures.
DESCRIPTORS = 100
ENTRIES = 100


class Ask(NamedTuple):
    """One descriptor. `hits` are given back if negative, and only looked for if 0.

    `priced` says that it brings its own hits; `override` is the limit that it brings along, as a
    number and the unit's number.
    """

    entries: tuple[Entry, ...]
    hits: int
    priced: bool
    override: tuple[int, int] | None


class Query(NamedTuple):
    """One call: a domain, and what is asked of it. `hits` are those of the call itself."""

    domain: str
    asks: tuple[Ask, ...]
    hits: int


def read(message: bytes) -> Query:
    """The query of a message; raises a `Status` where it is none."""
    try:
        heard = Heard.FromString(bytes(message))
    except DecodeError as problem:
        raise Status(INVALID_ARGUMENT, f"the message is no RateLimitRequest: {problem}") from None
    if not heard.domain:
        raise Status(INVALID_ARGUMENT, "the domain is empty; name one")
    if not heard.descriptors:
        raise Status(INVALID_ARGUMENT, "there are no descriptors; send at least one")
    if len(heard.descriptors) > DESCRIPTORS:
        said = f"{len(heard.descriptors)} descriptors; send at most {DESCRIPTORS}"
        raise Status(INVALID_ARGUMENT, said)
    asks = tuple(asked(told, heard.hits_addend) for told in heard.descriptors)
    return Query(text(heard.domain), asks, heard.hits_addend)


def asked(told: Any, hits: int) -> Ask:
    """What one descriptor asks, in a call of so many hits."""
    if len(told.entries) > ENTRIES:
        raise Status(INVALID_ARGUMENT, f"{len(told.entries)} entries; send at most {ENTRIES}")
    priced = told.HasField("hits_addend")
    number = min(told.hits_addend.value if priced else max(1, hits), CEILING)
    entries = tuple((text(one.key), text(one.value)) for one in told.entries)
    override = limit(told.limit) if told.HasField("limit") else None
    return Ask(entries, -number if told.is_negative_hits else number, priced, override)


def limit(told: Any) -> tuple[int, int]:
    """The limit that a descriptor brings along."""
    if not 0 < told.unit < len(UNITS):
        said = f"a limit is per {', '.join(SECONDS)}; its unit is a number from 1 to 7, "
        raise Status(INVALID_ARGUMENT, f"{said}not {told.unit}")
    return told.requests_per_unit, told.unit


def text(raw: bytes) -> str:
    """A text, whatever bytes a client has put into it; two that differ stay different."""
    return raw.decode("utf-8", "surrogateescape")
