"""Same trace, same answers: a server and this process's memory.

Five laws over random acts: takes, reservations, looks, debits, refunds, penalties, bookings and
cancels. The first four hold to the last field of every decision, for clocks that do not go back, or
not by more than is doubted anyway. The fifth is about clocks that do: memory and a server write
down that it went back at moments of their own, so a server is held against the steps of the
algorithms, and its cells against theirs. A refusal or a charge may write what is true as of now,
and nothing else.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from headgate import Decision, Limit, ManualClock, SlidingLog
from headgate.stores.flat.table import Table
from tests.conformance.bare import SECOND, Act, acts
from tests.conformance.engines import Meter, Steps, interpreted, punish, restate
from tests.conformance.limits import LIMITS
from tests.pairs import pairs
from tests.servers.launch import Server
from tests.stores.redis.callers import Caller
from tests.stores.redis.conftest import KINDS
from tests.stores.redis.records import Record, place, read
from tests.stores.redis.traces import KEY, Actor, agree, booking, onward, plain

EVERY = [limit for limits in LIMITS.values() for limit in limits]
# A server keeps what is longer than 62 cells in another shape.
LONG = [SlidingLog("61/s"), SlidingLog("200/min", penalty=3)]
UNDATED = [limit for limit in EVERY if not getattr(limit, "calendar", "")]


@pytest.mark.parametrize(
    ("limit", "back", "server"),
    pairs([*EVERY, *LONG], [0, SECOND], KINDS),
    indirect=["server"],
    ids=lambda one: one if isinstance(one, str) else repr(one),
)
def test_each_limit_answers_as_in_memory(
    server: Server, limit: Limit, back: int, scale: int
) -> None:
    trace = onward((limit,), random.Random(repr(limit)), back)
    with Caller(server.url) as caller:
        ledger = caller.open((limit,), clock=ManualClock())

        agree(trace, 35 * scale, Table((limit,), 4), ledger)


@pytest.mark.parametrize("seed", range(20))
def test_several_limits_answer_as_in_memory(server: Server, seed: int, scale: int) -> None:
    with Caller(server.url) as caller:
        for number in range(scale):
            chance = random.Random(f"{seed} of {number}")
            limits = tuple(chance.sample(EVERY, chance.choice([2, 2, 3, 4, 8])))
            ledger = caller.open(limits, clock=ManualClock())

            agree(onward(limits, chance), 50, Table(limits, 4), ledger)


@pytest.mark.parametrize("seed", range(20))
def test_bookings_are_cancelled_as_in_memory(server: Server, seed: int, scale: int) -> None:
    with Caller(server.url) as caller:
        for number in range(scale):
            chance = random.Random(f"{seed} of {number}")
            limits = tuple(chance.sample(EVERY, chance.choice([1, 1, 1, 2, 3])))
            trace = booking(onward(limits, chance), chance)
            ledger = caller.open(limits, clock=ManualClock())

            agree(trace, 60, Table(limits, 4), ledger)


@pytest.mark.parametrize("limit", UNDATED, ids=repr)
def test_a_stream_of_questions_is_answered_in_its_order(
    server: Server, limit: Limit, scale: int
) -> None:
    stream, decisions = recorded(limit, 100 * scale)
    with Caller(server.url, "async") as caller:
        ledger = caller.open((limit,), clock=ManualClock()).thing

        assert caller.run(streamed, ledger, stream) == decisions


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_a_clock_that_goes_back_is_answered_by_the_steps(
    server: Server, limit: Limit, scale: int
) -> None:
    witness(server, (limit,), repr(limit), 30 * scale)


@pytest.mark.parametrize("seed", range(10))
def test_a_clock_that_goes_back_is_answered_by_all_limits_together(
    server: Server, seed: int, scale: int
) -> None:
    for number in range(scale):
        chance = random.Random(f"{seed} of {number}")
        limits = tuple(chance.sample(UNDATED, chance.choice([2, 3])))
        witness(server, limits, f"{seed} of {number}", 40)


def recorded(limit: Limit, length: int) -> tuple[list[tuple[str, Act]], list[Decision]]:
    """Acts with their keys, as memory answered them; a key that is forgotten is used no more."""
    table = Table((limit,), 1_000)
    trace = onward((limit,), random.Random(length))
    stream, decisions = [], []
    act, key = next(trace), 0
    for _ in range(length):
        key += act.do == "forget"
        stream.append((f"key:{key}", act))
        decisions.append(perform(table, *stream[-1]))
        act = trace.send(decisions[-1])
    return stream, decisions


async def streamed(ledger: Any, stream: list[tuple[str, Act]]) -> list[Decision]:
    """What a server answers to acts that are all on their way at once."""
    # A script that it does not know yet is sent again, and comes behind what was asked later.
    await asyncio.gather(ledger.take("other", 1, 0, 0), ledger.peek("other", 1, 0))
    return list(await asyncio.gather(*[perform(ledger, key, act) for key, act in stream]))


def perform(ledger: Any, key: str, act: Act) -> Any:
    if act.do == "take":
        return ledger.take(key, act.cost, act.now, act.extra)
    if act.do == "charge":
        return ledger.charge(key, act.cost, act.now, act.extra)
    return ledger.peek(key, act.cost, act.now)


def witness(server: Server, limits: tuple[Limit, ...], seed: str, length: int) -> None:
    """Play a trace on a server, and on the steps beside it."""
    trace = acts(limits[0], random.Random(seed))
    beside = Beside(limits)
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = Actor(caller.open(limits, seed, ManualClock()))
        act = next(trace)
        for _ in range(length):
            act = fitting(limits, act)
            decision = ledger.perform(act)
            beside.compare(act, decision, read(wire, place(limits, seed, KEY)))
            act = trace.send(plain(decision))


def fitting(limits: tuple[Limit, ...], act: Act) -> Act:
    """An act that is not beyond what all limits can count."""
    if act.do == "charge":
        heaviest = min(limit.heaviest for limit in limits)
        return act._replace(cost=max(-heaviest, min(heaviest, act.cost)))
    return act._replace(extra=min(act.extra, *(limit.horizon for limit in limits), act.extra))


class Beside:
    """The steps of some limits, which see what a server answers and keeps."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self.steps = Still(limits, interpreted, list)
        self.actor = Actor(self.steps)
        self.dated = any(getattr(limit, "calendar", "") for limit in limits)

    def compare(self, act: Act, decision: Decision, record: Record | None) -> None:
        known = KEY in self.steps.keys
        expected = self.actor.perform(act)
        assert self.shown(decision) == self.shown(expected), act
        if record is None:
            assert not known or act.do == "forget", act
            self.steps.forget(KEY)
            return
        meters = self.steps.keys.setdefault(KEY, self.steps.fresh(act.now))
        if record.cells != kept(meters) and (act.do == "charge" or not decision):
            restate(meters, act.now)
        assert record.cells == kept(meters), act

    def shown(self, decision: Decision) -> Any:
        # Steps count windows as long as this one; a store dates those ahead by the calendar.
        return (decision.allowed, decision.remaining) if self.dated else decision


class Still(Steps):
    """Steps that write as little as they may: a refusal is charged its penalty, and that is all."""

    def refuse(self, meters: list[Meter], answers: list[Any], now: int, patience: int) -> None:
        punish(meters, answers, now, patience)


def kept(meters: list[Meter]) -> list[int]:
    return [cell for meter in meters for cell in meter.read()]
