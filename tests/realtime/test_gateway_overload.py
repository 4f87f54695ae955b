"""Five times what a server can do, with a gateway in front of it that finds out how much that is.

The server does eight things at a time, each takes it forty milliseconds, and whoever comes in the
meantime stands in a line that has no end. Under `make soak` that goes on for a minute.

How busy the gateway's own CPU is says nothing of a server elsewhere, so a limit in a gateway has to
go by what calls take. `vegas` goes by nothing else, and begins with so few places that a line has
no time to grow. `bbr` is told that no CPU is busy enough, and how many it lets in at most: until it
has seen some hundred calls it lets in all of those, and if that is a thousand, they wait for
seconds, and it never learns how short a call can be.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.realtime.conftest import Figures
from tests.realtime.machine import Machine
from tests.realtime.origin import Origin, plan, worker
from tests.realtime.rush import Rush, Visit, anyhow, evenly, part
from tests.servers.waiting import until
from tests.workers.process import Process

PLACES, WORK = 8, 0.04
LOAD = 5
# So many seconds of overload for each unit of scale; it has settled after some of them.
SECONDS, SETTLE = 6.0, 2.0
# Half of what the server can do before, and so long after, by when all has to be as before.
WARM, RECOVERY, CALM = 2.0, 5.0, 8.0
# An answer that comes later is of no use, and a refusal comes far sooner.
PATIENCE, PROMPT = 0.5, 0.02
UNLIMITED = {"name": "load", "limit": "1000000/s"}
# What is offered in so many seconds would make a line ten times as long.
BRIEF, SHORT = 1.2, 100
LONGEST = b"GET /longest HTTP/1.1\r\nHost: a.test\r\n\r\n"

either = pytest.mark.parametrize(
    "limit", ["vegas", {"by": "bbr", "busy": 1.0, "ceiling": 50}], ids=["vegas", "bbr"]
)


class Tale(NamedTuple):
    """What the server can do in a second, all visits, and from when to when it was overloaded."""

    capacity: float
    visits: list[Visit]
    machine: Machine
    begin: float
    end: float

    @property
    def goodput(self) -> float:
        """What was done in time in a second, once it had settled."""
        begin = self.begin + SETTLE
        good = [
            visit
            for visit in self.visits
            if begin <= visit.end < self.end and visit.status == 200 and visit.took <= PATIENCE
        ]
        return len(good) / (self.end - begin)

    def among(self, status: int, begin: float, end: float) -> list[Visit]:
        """Those who came in that time, and were answered so."""
        return [one for one in self.visits if one.status == status and begin <= one.begin < end]


@pytest.mark.serial
@either
def test_those_who_are_too_many_are_refused_and_make_no_line(limit: Any) -> None:
    rule = {"name": "load", "adaptive": limit}
    with Origin(places=PLACES, work=WORK) as origin, fronted(origin, rule) as gateway:
        much = anyhow(LOAD * PLACES / WORK, BRIEF, Random(11))
        visits = asyncio.run(Rush(gateway.port).run(much))
        until(lambda: calm(gateway.port), "everybody to be let in again")
        (answer,) = asyncio.run(Rush(origin.port, LONGEST).run([0.0]))

    assert {visit.status for visit in visits} == {200, 503}
    assert sum(visit.status == 200 for visit in visits) > PLACES
    assert int(answer.body) < SHORT


@pytest.mark.realtime
@either
def test_a_server_does_all_it_can_under_five_times_the_load(
    limit: Any, scale: int, figures: Figures
) -> None:
    tale = played({"name": "load", "adaptive": limit}, LOAD, SECONDS * scale, WARM, CALM)
    refused = tale.among(503, tale.begin + SETTLE, tale.end)
    late = tale.among(503, tale.end, math.inf)
    after = [visit for visit in tale.visits if visit.begin >= tale.end + RECOVERY]
    figures(
        goodput_of_capacity=tale.goodput / tale.capacity, refusals=len(refused),
        their_p99_ms=part(refused, 0.99) * 1000,
        recovery_s=max((visit.begin - tale.end for visit in late), default=0.0),
    )  # fmt: skip

    assert {visit.status for visit in tale.visits} == {200, 503}
    assert len(refused) > (tale.end - tale.begin - SETTLE) * tale.capacity * (LOAD - 2)
    assert tale.goodput >= 0.9 * tale.capacity
    assert tale.among(503, 0.0, tale.begin) == []
    assert len(after) > (CALM - RECOVERY - 0.5) * tale.capacity / 2
    assert {visit.status for visit in after} == {200}
    assert part(after, 0.99) <= PATIENCE / 2
    assert part(tale.machine.fair(refused), 0.99) <= PROMPT


@pytest.mark.realtime
@either
def test_a_gateway_that_starts_in_the_middle_of_it_finds_the_limit_as_well(
    limit: Any, figures: Figures
) -> None:
    tale = played({"name": "load", "adaptive": limit}, LOAD, SECONDS)
    figures(goodput_of_capacity=tale.goodput / tale.capacity)

    assert {visit.status for visit in tale.visits} == {200, 503}
    assert tale.machine.fair(tale.visits)
    assert tale.goodput >= 0.9 * tale.capacity


@pytest.mark.realtime
def test_without_a_limit_the_same_server_works_for_those_who_have_gone() -> None:
    tale = played(UNLIMITED, 2, SETTLE + 2)

    assert {visit.status for visit in tale.visits} == {200}
    assert tale.goodput <= 0.1 * tale.capacity


def played(
    rule: dict[str, Any], load: int, seconds: float, warm: float = 0.0, calm: float = 0.0
) -> Tale:
    """What comes of so many times the capacity for so long, by this rule."""
    with Origin(places=PLACES, work=WORK) as origin:
        capacity = asyncio.run(able(origin.port))
        before, after = evenly(capacity / 2, warm), evenly(capacity / 2, calm)
        much = anyhow(capacity * load, seconds, Random(11))
        with fronted(origin, rule) as gateway:
            return Tale(capacity, *asyncio.run(overload(gateway, before, much, after)))


def fronted(origin: Origin, rule: dict[str, Any]) -> Process:
    """A gateway in front of it, with this rule."""
    # What is to be found out is how many connections are enough.
    upstreams = {"one": {"servers": origin.url, "connections": 0}}
    text = plan(rule, upstreams=upstreams, routes=[{"upstream": "one"}])
    return Process(text, "--workers", "1")


def calm(port: int) -> bool:
    """Whether half of what the server can do is let in, for a little while."""
    visits = asyncio.run(Rush(port).run(evenly(PLACES / WORK / 2, 0.2)))
    return {visit.status for visit in visits} == {200}


async def able(port: int) -> float:
    """What a server does in a second if there is always somebody in line."""
    rush = Rush(port)
    for _ in range(2 * PLACES):
        rush.send()
    begin = time.monotonic() + WARM / 2
    end = begin + WARM
    seen = 0
    while time.monotonic() < end:
        await asyncio.sleep(WORK / 20)
        while seen < len(rush.visits):
            seen += 1
            rush.send()
    await rush.settle()
    return sum(begin <= visit.end < end for visit in rush.visits) / WARM


async def overload(
    gateway: Process, before: Iterable[float], much: Iterable[float], after: Iterable[float]
) -> tuple[list[Visit], Machine, float, float]:
    """Let clients come: some, far too many, and some again."""
    rush = Rush(gateway.port)
    async with Machine(worker(gateway)) as machine:
        await rush.come(before)
        begin = time.monotonic()
        await rush.come(much)
        end = time.monotonic()
        await rush.come(after)
        await rush.settle()
    return rush.visits, machine, begin, end
