"""Mint: where notes are signed, and seen to be ours.

Keys are rotated without anybody noticing: add the new one behind the old, and when all services
know it put it first; when the old one's last notes have expired, leave it out.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from headgate.budgets.note import (
    LONGEST_NAME,
    PERSON,
    SEAL,
    VERSION,
    Note,
    spell,
    spelled,
    unpack,
)

# Fewer bytes could be guessed, and more keys than this are not rotated but collected.
SHORTEST = 32
MOST = 16

Key = str | bytes


class Mint:
    """Signs with the first key, and takes what any of them has signed, for one budget."""

    __slots__ = ("_first", "_keys", "_name")

    def __init__(self, keys: Key | Iterable[Key], name: str) -> None:
        found = checked(keys)
        self._name = named(name).encode("ascii")
        self._first = mark(found[0])
        # Where two have one mark, the first is meant: it is the one that signs.
        self._keys = {mark(key): key for key in reversed(found)}

    def sign(self, note: Note) -> str:
        """A note as a header has it."""
        packed = note.pack(self._first, self._name)
        return spell(packed + seal(self._keys[self._first], packed))

    def read(self, text: str) -> Note | None:
        """The note that stands in a header; None if none of our keys has signed it."""
        whole = spelled(text)
        if not whole:
            return None
        packed, sealed = whole[:-SEAL], whole[-SEAL:]
        version, which, name, note = unpack(packed)
        key = self._keys.get(which)
        if version != VERSION or key is None:
            return None
        if not hmac.compare_digest(seal(key, packed), sealed):
            return None
        return note if name == self._name else None

    def __repr__(self) -> str:
        return f"<Mint: {len(self._keys)} keys>"


def seal(key: bytes, packed: bytes) -> bytes:
    """What only those can make who have the key."""
    return hmac.digest(key, packed, "sha256")[:SEAL]


def mark(key: bytes) -> bytes:
    """What tells keys apart without telling them."""
    return blake2b(key, digest_size=4, person=PERSON).digest()


def checked(keys: Any) -> list[bytes]:
    """The keys as bytes, if they are such; what is said of one that is not does not tell it."""
    given = [keys] if isinstance(keys, str | bytes) else [*keys]
    if not given:
        raise ValueError("Budget: keys are one or more; make one with openssl rand -hex 32")
    if len(given) > MOST:
        raise ValueError(f"Budget: keys are at most {MOST}, not {len(given)}")
    found = []
    for number, key in enumerate(given):
        if not isinstance(key, str | bytes):
            raise TypeError(
                f"Budget: keys[{number}] is a text or bytes, not a {type(key).__name__}"
            )
        secret = key.encode("utf-8") if isinstance(key, str) else key
        if len(secret) < SHORTEST:
            raise ValueError(
                f"Budget: keys[{number}] has {len(secret)} bytes, and a key has at least "
                f"{SHORTEST}; make one with openssl rand -hex 32"
            )
        found.append(secret)
    return found


def named(name: Any) -> str:
    """The name of a budget, which all its services say alike."""
    if not isinstance(name, str):
        raise TypeError(f"Budget: name is a text, not {name!r}")
    if not 0 < len(name) <= LONGEST_NAME or not name.isascii() or not name.isprintable():
        raise ValueError(f"Budget: name is 1 to {LONGEST_NAME} plain characters, not {name!r}")
    return name
