"""Pulse: signs of life on Redis, so that each process knows how many share its limits."""

from __future__ import annotations

import os
import struct
import uuid

from headgate.stores.redis.names import LAYOUT
from headgate.stores.redis.script import HERE, sealed
from headgate.stores.redis.wire import NONCE, Call, Question, bulk

KEY = f"headgate:{LAYOUT}:{{instances}}".encode()

# No fleet is larger; a reply that says so is damaged.
MOST = 100_000


class Pulse:
    """This process among those that use a store."""

    # No calendar here.
    calendars = ()

    def __init__(self) -> None:
        self._call = Call(sealed([(HERE / "pulse.lua").read_text("utf-8")]), 2)
        self._process = 0
        self._name = b""

    def sign(self, _: None = None) -> Question:
        """The question that says: I am here. Who else is?"""
        if self._process != os.getpid():
            self._process, self._name = os.getpid(), uuid.uuid4().hex.encode()
        quick = self._call.quick + bulk(KEY) + b"$8\r\n"
        return Question(self._call, KEY, quick, b"\r\n" + bulk(self._name))

    def read(self, reply: bytes) -> int:
        """How many there are."""
        return min(MOST, max(1, int(struct.unpack_from("<q", reply, NONCE)[0])))

    def turned(self, reply: bytes) -> bool:
        """No calendar here."""
        return False
