"""Notes: what travels of a budget, as a line of text that any service can read and none can change.

A note is bytes in base64url, which is what a header takes:

| bytes | hold |
| --- | --- |
| 1 | the version of this form, 1 |
| 1 | bits: 1 it is an answer, 2 nothing is counted, 4 funds were exhausted on the way |
| 4 | which key has signed it |
| 16 | the account, as a digest |
| 8 | how much is left |
| 8 | of a request, how much a grant is; of an answer, how much was granted on the way |
| 8 | when it was issued, in microseconds since 1970 |
| 4 | for how many microseconds it counts |
| 12 | a number that is used once; an answer has that of the request |
| 1 to 64 | the name of the budget that granted it |
| 16 | HMAC-SHA256 of all that stands before, as much of it |

Numbers stand with their highest byte first. Times are microseconds here as everywhere.
"""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import NamedTuple

VERSION = 1
ANSWER, UNCOUNTED, BROKEN = 1, 2, 4
FORM = struct.Struct(">BB4s16sQQQI12s")
SEAL = 16
# No name is longer, and no note lives longer: its life has four bytes.
LONGEST_NAME = 64
LONGEST_LIFE = 3_600_000_000
# What is longer or shorter than this is no note, and nobody looks at it.
LEAST, MOST = ((FORM.size + size + SEAL) * 4 // 3 for size in (1, LONGEST_NAME + 1))
ALPHABET = re.compile(r"[A-Za-z0-9_-]+")
PERSON = b"headgate.budget"


class Note(NamedTuple):
    """What a request or an answer says of a budget."""

    kind: int
    account: bytes
    left: int
    grant: int
    issued: int
    life: int
    nonce: bytes

    @property
    def expires(self) -> int:
        """Until when it counts."""
        return self.issued + self.life

    def pack(self, key: bytes, name: bytes) -> bytes:
        """All of it but the seal, which is made with that key."""
        return FORM.pack(VERSION, self.kind, key, *self[1:]) + name


def unpack(packed: bytes) -> tuple[int, bytes, bytes, Note]:
    """The version, the key and the name that a note tells of, and the note."""
    version, kind, key, *rest = FORM.unpack_from(packed)
    return version, key, packed[FORM.size :], Note(kind, *rest)


def spell(packed: bytes) -> str:
    """Bytes as a header takes them."""
    return urlsafe_b64encode(packed).rstrip(b"=").decode("ascii")


def spelled(text: str) -> bytes:
    """The bytes of a header; none if these are not the letters that we would write for any."""
    if not LEAST <= len(text) <= MOST or ALPHABET.fullmatch(text) is None:
        return b""
    # One letter too many; and what the last letter says beyond the last byte has to be nothing.
    if len(text) % 4 == 1:
        return b""
    packed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return packed if spell(packed) == text else b""


def digest(account: str) -> bytes:
    """An account as notes and limiters know it: who they are is in no header and in no store."""
    name = account.encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=16, person=PERSON).digest()
