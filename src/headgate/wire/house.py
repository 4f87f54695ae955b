"""House: what all connections of clients share: how much they may say, how long they may take.

The time is told by whoever looks at the clock now and then; nothing here asks for it.
"""

from __future__ import annotations

from headgate.measures import FOREVER
from headgate.wire.scroll import Scroll

MILLION = 1_000_000


class House:
    """What connections are held to. Times are microseconds, `now` is about what time it is."""

    __slots__ = (
        "body", "head", "lines", "now", "requests", "scroll", "until_body", "until_closed",
        "until_head", "until_idle", "until_sent",
    )  # fmt: skip

    def __init__(self) -> None:
        self.now = 0
        # Bytes of a head and of a body, headers of a request, requests of a connection.
        self.head = self.body = self.lines = self.requests = FOREVER
        # How long a client may take for a head, pause in a body, say nothing, take in nothing; and
        # how long is waited for it to hang up.
        self.until_head = self.until_body = self.until_idle = self.until_sent = FOREVER
        self.until_closed = 2 * MILLION
        # What is told to clients is put together on it, one answer after another.
        self.scroll = Scroll()
