"""How a no is said over gRPC: a code, a sentence, and metadata for programs.

| refused because | code | details | `grpc-retry-pushback-ms` |
| --- | --- | --- | --- |
| too much | RESOURCE_EXHAUSTED | RetryInfo, QuotaFailure | when to come back |
| too much at once, ever | RESOURCE_EXHAUSTED | QuotaFailure | -1: do not |
| not now, or nobody knows | UNAVAILABLE | RetryInfo | when to come back |
| never | PERMISSION_DENIED | | -1: do not |

Details are a `google.rpc.Status` in `grpc-status-details-bin`, where every gRPC library looks for
them. It is a few bytes of Protocol Buffers, written here by hand: the packages that could write it
are large, and pin versions of each other. No key is in any of it.
"""

from __future__ import annotations

import random
from math import ceil, inf
from typing import NamedTuple

from headgate.adapters.http.herald import JITTER, detail
from headgate.rules.live.entry import Refusal

Metadata = tuple[tuple[str, str | bytes], ...]

EXHAUSTED, UNAVAILABLE, DENIED = 8, 14, 7
CODES = {
    "limit": EXHAUSTED,
    "capacity": UNAVAILABLE,
    "unavailable": UNAVAILABLE,
    "denied": DENIED,
    "key": DENIED,
}
TYPES = "type.googleapis.com/google.rpc."


class Abort(NamedTuple):
    """What a call is ended with."""

    code: int
    message: str
    metadata: Metadata


def abort(refusal: Refusal, luck: float | None = None) -> Abort:
    """What becomes of a call that was refused.

    Those who came when there was no room are told to come back over a longer time, by chance;
    `luck` is a number from 0 to 1.
    """
    code = CODES[refusal.kind]
    policy = refusal.policy or refusal.rule.name
    message = detail(refusal, policy) or "Denied."
    wait = inf if code == DENIED else refusal.retry_after
    if refusal.kind == "capacity":
        # Keeps no secret.
        wait *= 1.0 + JITTER * (random.random() if luck is None else luck)  # noqa: S311
    pause = -1 if wait == inf else max(1, ceil(wait * 1000))
    metadata: list[tuple[str, str | bytes]] = [("grpc-retry-pushback-ms", str(pause))]
    told = [retry(pause)] if pause >= 0 else []
    if code == EXHAUSTED:
        told.append(failure(policy, message))
    if told:
        said = (number(1, code), text(2, message.encode()), *[text(3, one) for one in told])
        metadata.append(("grpc-status-details-bin", b"".join(said)))
    return Abort(code, message, tuple(metadata))


def retry(milliseconds: int) -> bytes:
    """A `RetryInfo`, packed."""
    seconds, rest = divmod(milliseconds, 1000)
    return packed("RetryInfo", text(1, number(1, seconds) + number(2, rest * 1_000_000)))


def failure(policy: str, message: str) -> bytes:
    """A `QuotaFailure` with one violation, packed."""
    said = text(1, f"policy:{policy}".encode()) + text(2, message.encode())
    return packed("QuotaFailure", text(1, said))


def packed(name: str, content: bytes) -> bytes:
    """An `Any` that holds a message of this name."""
    return text(1, f"{TYPES}{name}".encode()) + text(2, content)


def text(field: int, content: bytes) -> bytes:
    """A field of bytes: its number, their length, themselves."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field: int, value: int) -> bytes:
    """A field of a number; a zero is not written."""
    return varint(field << 3) + varint(value) if value else b""


def varint(value: int) -> bytes:
    """Seven bits to a byte, the lowest first; all but the last have the eighth set."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
