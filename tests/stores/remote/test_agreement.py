"""Same trace, same answers: a service and this process's memory."""

from __future__ import annotations

import random

import pytest

from headgate import Limit, ManualClock
from headgate.stores.flat.table import Table
from tests.conformance.limits import LIMITS
from tests.service.resp.staging import Stage
from tests.stores.redis.callers import COLOURS
from tests.stores.redis.traces import agree, booking, onward
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
