"""Numbers in commands, as Redis takes them: whole, in digits, and nothing else; and short keys."""

from __future__ import annotations

import re
from hashlib import blake2b

LONGEST = 20
# A key that is to be remembered is no longer than this.
KEY = 512
SECONDS = re.compile(rb"[0-9]{1,9}(\.[0-9]{1,9})?").fullmatch
SAYS = "value is not an integer or out of range"


class Wrong(ValueError):
    """A word of a command is not what it has to be; says which, and what would be right."""


def whole(word: bytes, least: int, most: int, what: str = "") -> int:
    """The number that a word says, from `least` to `most`."""
    try:
        found = int(word) if len(word) <= LONGEST else most + 1
    except ValueError:
        found = most + 1
    # Not what Python takes besides, such as blanks, signs and underscores.
    if not least <= found <= most or b"%d" % found != word:
        raise Wrong(f"{what} is a whole number from {least} to {most}" if what else SAYS)
    return found


def seconds(word: bytes, what: str) -> float:
    """The number of seconds that a word says, such as 30 or 2.5."""
    if not SECONDS(word):
        raise Wrong(f"{what} is a number of seconds such as 30 or 2.5")
    return float(word)


def brief(key: bytes) -> bytes:
    """A key, or its digest where it is so long that many would fill the memory."""
    return key if len(key) <= KEY else b"~" + blake2b(key, digest_size=20).hexdigest().encode()
