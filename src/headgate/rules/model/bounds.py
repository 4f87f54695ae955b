"""Bounds: how much a gateway takes in, and how long it waits for whom."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from headgate.measures import real
from headgate.rate import SIZES
from headgate.rules.model.kinds import Kind, Misfit, Plain
from headgate.rules.model.scalars import MOST, measured, seconds, whole
from headgate.rules.model.table import Table, strict, told

# Sizes that come out whole in one of these are spelled in it.
SPELLED = sorted((unit for unit in SIZES if unit != "B"), key=SIZES.__getitem__, reverse=True)
CONNECTIONS = 1_000_000
# No wait is shorter, but where 0s has a meaning of its own.
LEAST = 0.001


def volume(says: str, least: int, most: int = MOST) -> Kind:
    """A kind of numbers of bytes, as a number or with a unit."""

    def make(given: Any) -> int:
        found = given if isinstance(given, int) and real(given) else measured(given, SIZES)
        if found < least or found != int(found):
            raise Misfit(f"; at least {weighing(least)}, and whole")
        if found > most:
            raise Misfit(f"; at most {weighing(most)}")
        return int(found)

    pattern = rf"^[0-9]{{1,15}}(\.[0-9]{{1,9}})? ?({'|'.join(SIZES)})$"
    return Plain(
        f"{says}, a size such as 64KB or 1MiB", make,
        {"anyOf": [{"type": "integer", "minimum": least, "maximum": most},
                   {"type": "string", "pattern": pattern}]},
        weighing,
    )  # fmt: skip


def weighing(value: int) -> str | int:
    """A size as one would type it."""
    for unit in SPELLED:
        if value and value % SIZES[unit] == 0:
            return f"{value // SIZES[unit]}{unit}"
    return value


@strict
@dataclass(frozen=True, repr=False)
class Bounds:
    """How much a gateway takes; 0 is no bound where that is said."""

    head: Any = told(
        volume("how much", 1000, 1 << 24), "How many bytes a request's head may have.", 64_000
    )
    lines: Any = told(whole("how many", 1, 10_000), "How many headers a request may have.", 100)
    body: Any = told(
        volume("how much", 0), "How many bytes a request's body may have; 0 for any number.", 0
    )
    connections: Any = told(
        whole("how many", 1, CONNECTIONS),
        "How many connections of clients a worker may have.",
        10_000,
    )
    per_client: Any = told(
        whole("how many", 0, CONNECTIONS),
        "How many of them one client may have; 0 for any number.",
        0,
    )
    requests: Any = told(
        whole("how many", 0, 1 << 30),
        "After how many requests a client's connection is closed; 0 for never.",
        0,
    )


CONNECT = seconds("how long", LEAST)
ANSWER = seconds("how long", LEAST)
STALL = seconds("how long")
TOTAL = seconds("how long")


@strict
@dataclass(frozen=True, repr=False)
class Timeouts:
    """How long a gateway waits, for clients and for servers, in seconds."""

    head: Any = told(
        seconds("how long", LEAST), "How long a client may take for a request's head.", 10.0
    )
    body: Any = told(
        seconds("how long", LEAST), "How long a client may pause within a request's body.", 30.0
    )
    idle: Any = told(
        seconds("how long", LEAST), "How long a connection is kept on which no request comes.", 60.0
    )
    send: Any = told(
        seconds("how long", LEAST), "How long a client may take in nothing of its answer.", 60.0
    )
    connect: Any = told(CONNECT, "How long it may take to reach a server.", 5.0)
    answer: Any = told(ANSWER, "How long a server may take until its answer begins.", 60.0)
    stall: Any = told(STALL, "How long it may pause within its answer; 0s for any time.", 60.0)
    total: Any = told(TOTAL, "How long a request may take in all; 0s for any time.", 300.0)
    drain: Any = told(
        seconds("how long"), "How long what is under way may take at the end; 0s cuts it.", 30.0
    )


@strict
@dataclass(frozen=True, repr=False)
class Patience:
    """How long is waited on one route; what is not said is as everywhere."""

    connect: Any = told(CONNECT, "How long it may take to reach a server.", None)
    answer: Any = told(ANSWER, "How long a server may take until its answer begins.", None)
    stall: Any = told(STALL, "How long it may pause within its answer; 0s for any time.", None)
    total: Any = told(TOTAL, "How long a request may take in all; 0s for any time.", None)

    def over(self, timeouts: Timeouts) -> Timeouts:
        """These timeouts, but for what is said here."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(timeouts, **{word: one for word, one in said.items() if one is not None})


BOUNDS = Table(Bounds, "a mapping such as {body: 10MB, per_client: 100}")
TIMEOUTS = Table(Timeouts, "a mapping such as {answer: 30s, total: 2min}")
PATIENCE = Table(Patience, "a mapping such as {answer: 30s, total: 2min}")
