"""Same trace, same answers: a service and this process's memory."""

from __future__ import annotations

import random

import pytest

from headgate import FixedWindow, Limit, ManualClock
from headgate.stores.flat.table import Table
from headgate.stores.store import FAR
from tests.conformance.bare import BEGIN, SECOND, Act
from tests.conformance.limits import LIMITS
from tests.service.resp.staging import RespServiceHost as Stage
from tests.stores.redis.callers import COLOURS
from tests.stores.redis.traces import Actor, agree, booking, onward
from tests.stores.remote.callers import Remote

EVERY = [limit for limits in LIMITS.values() for limit in limits]


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_each_limit_answers_as_in_memory(service: Stage, limit: Limit, scale: int) -> None:
    trace = onward((limit,), random.Random(repr(limit)))
    with Remote(service.url) as caller:
        ledger = caller.open((limit,), clock=ManualClock())

        agree(trace, 100 * scale, Table((limit,), 4), ledger)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("colour", COLOURS)
def test_several_limits_and_their_bookings_answer_as_in_memory(
    service: Stage, colour: str, seed: int, scale: int
) -> None:
    with Remote(service.url, colour) as caller:
        for number in range(scale):
            chance = random.Random(f"{seed} of {number}")
            limits = tuple(chance.sample(EVERY, chance.choice([1, 1, 2, 3, 8])))
            trace = booking(onward(limits, chance), chance)
            ledger = caller.open(limits, clock=ManualClock())

            agree(trace, 150, Table(limits, 4), ledger)


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_booking_as_far_ahead_as_possible_is_given_back_as_in_memory(
    service: Stage, limit: Limit
) -> None:
    acts = book_latest(limit)
    with Remote(service.url) as caller:
        remote = Actor(caller.open((limit,), clock=ManualClock()))
        memory = Actor(Table((limit,), 4))

        assert [remote.perform(act) for act in acts] == [memory.perform(act) for act in acts]


@pytest.mark.parametrize("colour", COLOURS)
def test_booking_in_a_century_is_given_back_by_the_time_of_the_service(colour: str) -> None:
    limit = FixedWindow("5/min")
    begin = BEGIN // limit.length * limit.length
    acts = book_latest(limit, begin)
    with (
        Stage(clock=ManualClock(begin / SECOND)) as stage,
        Remote(stage.url, colour) as caller,
    ):
        remote = Actor(caller.open((limit,)))
        memory = Actor(Table((limit,), 4))
        told = [(remote.perform(act), memory.perform(act)) for act in acts]

    _, booked, _, _ = told
    assert begin + booked[0].retry_after * SECOND > FAR
    assert [one for one, _ in told] == [one for _, one in told]


def book_latest(limit: Limit, now: int = BEGIN) -> list[Act]:
    """Spends nearly all that can be counted, books one unit more, and gives the booking back."""
    spent = limit.heaviest - 2 * limit.limit
    return [
        Act("charge", now, max(1, spent), FAR),
        Act("book", now, 1, limit.horizon),
        Act("release", now, 0, -1),
        Act("peek", now, 1, 0),
    ]
