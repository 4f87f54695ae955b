"""Larder: the last good answers, for when there is nothing better.

Under `over: {degrade: {stale: 60s}}` whoever is refused gets the last good answer to the same
request of the same key, if it is no older. An answer is kept only if anybody who asks the same may
have it: a 200 to a GET, of at most 64 KiB, without cookies, that does not say it is private, and is
asked for without credentials. The least used makes room for others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from headgate.adapters.http.dialects import Fields
from headgate.fork import follow
from headgate.rules.entry import Entry
from headgate.rules.over import Degrade

# So many answers are kept, each of so many bytes at most.
MOST = 1_000
LARGEST = 65_536
# What is about one sending of an answer, and not about the answer.
PASSING = {b"age", b"connection", b"content-length", b"date", b"keep-alive", b"transfer-encoding"}
SECRET = ("authorization", "cookie")
# An answer may differ by these; by others it is not kept.
VARIES = ("accept", "accept-encoding", "accept-language")

Place = tuple[str, ...]


class Provision(NamedTuple):
    """An answer that was good, and when that was, in microseconds."""

    headers: Fields
    body: bytes
    since: int


class Larder:
    """Keeps good answers for those who are refused later."""

    def __init__(self, clock: Callable[[], int], most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[Place, Provision] = OrderedDict()
        self._begin()
        follow(self, Larder._begin)

    def keep(self, entry: Entry, target: str, status: int, headers: Fields, body: bytes) -> None:
        """Keep an answer, for every rule that would have it again."""
        if not keepable(entry, status, headers, body):
            return
        lasting = [pair for pair in headers if pair[0].lower() not in PASSING]
        provision = Provision(lasting, body, self._clock())
        with self._lock:
            for place in wanted(entry, target):
                self._kept[place] = provision
                self._kept.move_to_end(place)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def find(self, entry: Entry, target: str) -> tuple[Fields, bytes] | None:
        """The headers and the body of an answer that is not too old for whoever was refused."""
        if entry.refusal is None or not isinstance(entry.refusal.rule.over, Degrade):
            return None
        with self._lock:
            found = next(
                (self._kept[place] for place in wanted(entry, target) if place in self._kept), None
            )
        if found is None:
            return None
        age = (self._clock() - found.since) / 1e6
        if age > entry.refusal.rule.over.stale:
            return None
        length = (b"content-length", b"%d" % len(found.body))
        return [*found.headers, length, (b"age", b"%d" % max(0, age))], found.body

    def _begin(self) -> None:
        # In a forked child nobody holds the lock.
        self._lock = threading.Lock()


def stocked(entry: Entry) -> bool:
    """Whether some rule would have the answer to this request again."""
    return any(one.ruling.stale for one in entry.passes) or any(
        ruling.stale for ruling, _, _ in entry.places
    )


def wanted(entry: Entry, target: str) -> list[Place]:
    """Under what the answer to a request is kept: by rule, key, and what was asked for."""
    request = entry.request
    varied = tuple(request.header(name) for name in VARIES)
    keys = [(one.ruling, one.key) for one in entry.passes]
    keys += [(ruling, key) for ruling, _, key in entry.places]
    return [
        (ruling.name, key, request.host, target, *varied) for ruling, key in keys if ruling.stale
    ]


def keepable(entry: Entry, status: int, headers: Fields, body: bytes) -> bool:
    """Whether anybody who asks the same may have the answer."""
    request = entry.request
    if status != 200 or request.method != "GET" or len(body) > LARGEST:
        return False
    said = {name.lower(): value.lower() for name, value in headers}
    if b"set-cookie" in said or any(request.header(name) for name in SECRET):
        return False
    control = said.get(b"cache-control", b"")
    if b"private" in control or b"no-store" in control:
        return False
    varies = {name.strip() for name in said.get(b"vary", b"").decode("latin-1").split(",")}
    return varies <= {"", *VARIES}
