"""How Headgate's keys are called on Redis, and where a cluster keeps them.

    headgate:1:api:5f3a9c2e71d04b88:{user:42}

The version of the layout, the limiter, a digest of its limits, and the key in a hash tag that only
we choose. Limits that differ in anything keep their states apart, so a rolling deployment never
misreads what the other half wrote. Names and keys that are long, or have characters that mean
something to Redis or to people who read its keys, are replaced by a digest of 128 bits.
"""

from __future__ import annotations

import binascii
import hashlib
import re

from headgate.algorithms.limit import Limit

LAYOUT = 1
SLOTS = 16384
PLAIN = re.compile(r"[A-Za-z0-9._@:/+=-]{1,128}").fullmatch
WORD = re.compile(r"[A-Za-z0-9._@-]{1,64}").fullmatch


def prefix(limits: tuple[Limit, ...], name: str) -> bytes:
    """What all keys of a limiter begin with."""
    spelled = "\n".join(f"{type(limit).__name__} {limit._meaning()[1:]!r}" for limit in limits)
    return heading(name, spelled)


def heading(name: str, spelled: str) -> bytes:
    """What the keys of anything begin with that is called `name` and is what `spelled` says."""
    mark = hashlib.blake2b(spelled.encode(), digest_size=8).hexdigest()
    word = name if WORD(name) else digest(name) if name else "~"
    return f"headgate:{LAYOUT}:{word}:{mark}:".encode()


def tag(key: str) -> bytes:
    """The hash tag of a key."""
    if PLAIN(key):
        return b"{%b}" % key.encode()
    return b"{%b}" % digest(key).encode()


def digest(text: str) -> str:
    """A digest that no plain name or key looks like."""
    return "~" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def slot(key: bytes) -> int:
    """Where a cluster keeps a key that has a hash tag."""
    start = key.index(b"{") + 1
    return binascii.crc_hqx(key[start : key.index(b"}", start)], 0) & SLOTS - 1
