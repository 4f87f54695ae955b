"""Board: rules on Redis or Valkey, for a whole fleet to read.

    headgate:1:rules:{default}    a hash of text, form, digest and version

They are put up and read by one script each, so nobody ever reads half of them. Who has read them
already is told their mark and nothing else: a look costs the server some microseconds, whatever
the rules' length.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from headgate.stores.redis.names import LAYOUT, tag
from headgate.stores.redis.script import sealed
from headgate.stores.redis.store import RedisStore
from headgate.stores.redis.wire import NONCE, Call, Question, bulk

HERE = Path(__file__).parent
POST = Call(sealed([(HERE / "post.lua").read_text("utf-8")]), 4)
READ = Call(sealed([(HERE / "read.lua").read_text("utf-8")]), 2)


class Posting(NamedTuple):
    """What stands on a board. Its `mark` is another one whenever it is put up anew."""

    mark: str
    form: str = ""
    digest: str = ""
    text: bytes = b""


class Board:
    """The board of one name on the servers of a URL; a call takes `budget` seconds at most."""

    def __init__(self, url: str, name: str, budget: float) -> None:
        self._store = RedisStore(url, budget, 1)
        self._key = f"headgate:{LAYOUT}:rules:".encode() + tag(name)

    def post(self, text: bytes, form: str, digest: str) -> int:
        """Put a text up in place of what stood there; answers how many there have been."""
        words = [text, form.encode(), digest.encode()]
        return self._store.put(self._ask(POST, words), counted)  # type: ignore[no-any-return]

    def read(self, known: str) -> Posting:
        """What stands there; nothing but the mark, if it is the one that is known."""
        question = self._ask(READ, [known.encode("latin-1")])
        return self._store.put(question, posted)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Hang up; the next call dials again."""
        self._store.close()

    def _ask(self, call: Call, words: list[bytes]) -> Question:
        quick = call.quick + bulk(self._key) + b"$%d\r\n" % NONCE
        return Question(call, self._key, quick, b"\r\n" + b"".join(map(bulk, words)))


def counted(reply: bytes) -> int:
    """The number in a reply."""
    return int(struct.unpack_from("<q", reply, NONCE)[0])


def posted(reply: bytes) -> Posting:
    """The posting in a reply; only its mark, if that is all there is."""
    mark, rest = cut(reply[NONCE:])
    if not rest:
        return Posting(mark)
    form, rest = cut(rest)
    digest, text = cut(rest)
    return Posting(mark, form, digest, text)


def cut(said: bytes) -> tuple[str, bytes]:
    """The first word, which has its length before it, and what comes after.

    Somebody may have written it by hand, so any bytes are a word.
    """
    size = struct.unpack_from("<I", said)[0]
    if len(said) < 4 + size:
        raise ValueError("a word is cut off")
    return said[4 : 4 + size].decode("latin-1"), said[4 + size :]
