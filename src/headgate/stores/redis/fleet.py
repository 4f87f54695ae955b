"""The fleet: which server a key belongs to, and what to do when a server says it is another.

Knows no sockets. What has to be asked is told as flows, for both colours: `asked` puts a question
and goes where it is sent; `found` learns who is who.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headgate.drive import Flow
from headgate.errors import StoreUnavailable
from headgate.stores.redis.names import SLOTS, slot
from headgate.stores.redis.place import Place, Route
from headgate.stores.redis.wire import (
    STRANGE,
    Question,
    Refusal,
    Unsent,
    command,
    foreign,
    refused,
    unreached,
)

# How often a question is sent on before we say that nobody knows.
HOPS = 5
# The refusals after which it is put again.
ONWARD = ("NOSCRIPT", "MOVED", "ASK", "READONLY")


class Send(NamedTuple):
    """Put a question to a server; answered by the reply, which may be a Refusal."""

    place: Place
    question: Question
    full: bool
    asking: bool


class Tell(NamedTuple):
    """Put a plain command to a server; answered by the reply."""

    place: Place
    payload: bytes


class Find(NamedTuple):
    """Learn anew who is who, or wait for whoever is at it."""


class Fleet:
    """The servers of a store as they are known now."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.home: Place | None = route.entry if route.kind == "single" else None
        self.slots: list[Place | None] = [None] * SLOTS if route.kind == "cluster" else []
        self._shunned: tuple[str, int] | None = None

    def place(self, key: bytes) -> Place | None:
        """The server that has `key`, if it is known."""
        if self.slots:
            return self.slots[slot(key)]
        return self.home

    def moved(self, refusal: Refusal) -> Place:
        """Where MOVED or ASK sends us."""
        _, number, address = str(refusal).split(" ")[:3]
        host, _, port = address.rpartition(":")
        # An empty host means the one that said so; with one entry for all it is the first seed's.
        place = self.route.entry.at(host or self.route.seeds[0].host, int(port))
        if refusal.word == "MOVED":
            self.slots[int(number)] = place
        return place

    def doubt(self, place: Place) -> None:
        """Forget that `place` is the primary, if there may be another; and ask it last who is."""
        self._shunned = place.address
        if self.route.kind == "sentinel" and self.home == place:
            self.home = None
        self.slots = [None if known == place else known for known in self.slots]

    def known(self) -> list[Place]:
        """Every server that may know who is who, those met last first."""
        met = {place.address: place for place in self.slots if place is not None}
        seeds = {seed.address: seed for seed in self.route.seeds}
        return sorted((met | seeds).values(), key=lambda place: place.address == self._shunned)

    def learn(self, reply: Any) -> None:
        """Take in what a sentinel says of the primary, or a node of the slots of its cluster."""
        entry = self.route.entry
        if self.route.kind == "sentinel":
            self.home = entry.at(reply[0].decode(), int(reply[1]))
            return
        fresh: list[Place | None] = [None] * SLOTS
        for first, last, primary, *_ in reply:
            host = primary[0].decode() if primary[0] else self.route.seeds[0].host
            fresh[first : last + 1] = [entry.at(host, primary[1])] * (last - first + 1)
        self.slots = fresh


def asked(
    fleet: Fleet, question: Question, place: Place | None = None, refusal: Refusal | None = None
) -> Flow[Any]:
    """The answer to a question from whoever has its key; it may have been refused once already."""
    full = asking = False
    if refusal is None or place is None:
        place = fleet.place(question.slot)
    else:
        place, full, asking = onward(fleet, place, refusal, full, asking)
    for hop in range(HOPS):
        if place is None:
            yield Find()
            place = fleet.place(question.slot)
        if place is None:
            raise nobody(fleet)
        try:
            reply = yield Send(place, question, full, asking)
        except StoreUnavailable as problem:
            fleet.doubt(place)
            if fleet.route.kind == "single" or hop or not isinstance(problem, Unsent):
                raise
            place, full, asking = None, False, False
            continue
        if type(reply) is bytes:
            return reply
        place, full, asking = onward(fleet, place, reply, full, asking)
    raise StoreUnavailable(f"{place} and others sent us on {HOPS} times", "moved")


def onward(
    fleet: Fleet, place: Place, refusal: Refusal, full: bool, asking: bool
) -> tuple[Place | None, bool, bool]:
    """Where to put a refused question next, and how; where it was refused, nothing was done."""
    if not isinstance(refusal, Refusal):
        raise foreign(place)
    word = refusal.word
    if word == "NOSCRIPT" and not full:
        return place, True, asking
    if word in {"MOVED", "ASK"} and fleet.slots:
        try:
            return fleet.moved(refusal), False, word == "ASK"
        except STRANGE:
            raise refused(refusal, place) from None
    if word == "READONLY" and fleet.route.kind != "single":
        fleet.doubt(place)
        return None, False, False
    raise refused(refusal, place)


def found(fleet: Fleet) -> Flow[None]:
    """Learn who is who from the first server that knows."""
    problem: object = "no server is known"
    for place in fleet.known():
        try:
            reply = yield Tell(place, inquiry(fleet.route))
        except StoreUnavailable as trouble:
            fleet.doubt(place)
            problem = trouble
            continue
        if isinstance(reply, Refusal) or not reply:
            problem = reply or f"{place} knows no primary {fleet.route.name!r}"
            continue
        try:
            fleet.learn(reply)
        except STRANGE:
            problem = foreign(place)
            continue
        return
    raise unreached(title(fleet), problem)


def inquiry(route: Route) -> bytes:
    if route.kind == "cluster":
        return command("CLUSTER", "SLOTS")
    return command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", route.name)


def nobody(fleet: Fleet) -> StoreUnavailable:
    return unreached(title(fleet), "no server has this key")


def title(fleet: Fleet) -> str:
    """What to call the fleet in a message."""
    return f"{fleet.route.kind} {', '.join(map(str, fleet.route.seeds))}"


def told(fleet: Fleet, key: bytes, payload: bytes) -> Flow[Any]:
    """The reply to a plain command from whoever has `key`; it may be given twice without harm."""
    place = fleet.place(key)
    for hop in range(HOPS):
        if place is None:
            yield Find()
            place = fleet.place(key)
        if place is None:
            break
        try:
            reply = yield Tell(place, payload)
        except StoreUnavailable:
            fleet.doubt(place)
            if fleet.route.kind == "single" or hop:
                raise
            place = None
            continue
        if not isinstance(reply, Refusal):
            return reply
        place, _, _ = onward(fleet, place, reply, True, False)
    raise nobody(fleet)
