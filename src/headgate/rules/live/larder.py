"""Larder: the last good answers, for when there is nothing better.

Under `over: {degrade: {stale: 60s}}` whoever is refused gets the last good answer to the same
request of the same key, if it is no older and the request is a GET or HEAD without credentials or a
body. An answer is kept only if anybody who asks the same may have it: a whole 200 to a GET, of at
most 64 KiB, without cookies, that does not say it is private, to a request of that kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from headgate.clock import Clock, SystemClock
from headgate.latch import Latch
from headgate.rules.matching.request import Request

# So many answers are kept for a rule, each of so many bytes at most; the least used make room.
MOST = 1_000
LARGEST = 65_536
# What is told of an answer when it is given again.
LASTING = ("content-type", "content-encoding", "content-language", "etag", "last-modified")
SECRET = ("authorization", "cookie", "transfer-encoding")
# An answer may differ by these; by others it is not kept.
VARIES = ("accept", "accept-encoding", "accept-language")

Place = tuple[str, ...]
Header = Callable[[str], str]


class Provision(NamedTuple):
    """An answer that was good: its headers, its body, and since when, in microseconds."""

    headers: tuple[tuple[str, str], ...]
    body: bytes
    since: int


class Larder:
    """Keeps the good answers of one rule for those whom it refuses later."""

    def __init__(self, clock: Clock | None = None, most: int = MOST) -> None:
        self._clock = SystemClock() if clock is None else clock
        self._most = most
        self._kept: OrderedDict[Place, Provision] = OrderedDict()
        self._lock = Latch()

    def keep(self, request: Request, key: str, header: Header, body: bytes) -> None:
        """Keep the answer to a request of this key."""
        told = tuple((name, header(name)) for name in LASTING if header(name))
        with self._lock:
            self._kept[place(request, key)] = Provision(told, body, self._clock.now())
            self._kept.move_to_end(place(request, key))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def find(self, request: Request, key: str, oldest: float) -> Provision | None:
        """The answer to the same request, with its age in headers, if it is not too old."""
        if request.method not in ("GET", "HEAD") or particular(request):
            return None
        with self._lock:
            found = self._kept.get(place(request, key))
        if found is None:
            return None
        age = (self._clock.now() - found.since) / 1e6
        if age > oldest:
            return None
        return found._replace(headers=(*found.headers, ("age", str(max(0, int(age))))))


def place(request: Request, key: str) -> Place:
    """Under what an answer is kept: for whom, and all that was asked."""
    whom = (key, request.scheme, request.host, request.road)
    return (*whom, request.path, request.asked, *map(request.header, VARIES))


def particular(request: Request) -> bool:
    """Whether it has what is nobody else's: credentials, or a body that says what is wanted."""
    length = request.header("content-length")
    return length not in ("", "0") or any(map(request.header, SECRET))


def keepable(request: Request, status: int, header: Header, body: bytes) -> bool:
    """Whether anybody who asks the same may have the answer."""
    if status != 200 or request.method != "GET" or len(body) > LARGEST:
        return False
    if header("content-length") not in ("", str(len(body))) or header("set-cookie"):
        return False
    if particular(request):
        return False
    control = header("cache-control").lower()
    if "private" in control or "no-store" in control:
        return False
    varies = {name.strip().lower() for name in header("vary").split(",")}
    return varies <= {"", *VARIES}
