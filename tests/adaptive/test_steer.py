"""Steer: the rate follows what the calls take, and what cannot be steered is refused at once."""

from __future__ import annotations

import gc
import os
import re

import pytest

from headgate import Limiter, LimitError, LimitExceeded, ManualClock, Steer, Vegas
from headgate.measures import MILLION
from tests.servers.launch import Server
from tests.servers.waiting import until


def test_the_first_rate_goes_by_what_calls_take() -> None:
    # Ten at once, each of which takes 0.1 s, are a hundred a second; begun at 20 a second.
    clock = ManualClock(1.0)
    steer = Steer(Limiter("20/s", clock=clock), Vegas(10, floor=10, ceiling=10))
    for _ in range(10):
        with steer.hold():
            clock.advance(0.1)

    assert steer.took == MILLION / 10
    assert steer.rate == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("limiter", "problem"),
    [
        (Limiter("20/s", "10000/day"), "Steer: a limiter with one limit is steered, not Limiter("),
        (Limiter("unlimited"), 'Steer: a limiter with one limit is steered, not Limiter("unlimi'),
    ],
)
def test_other_limits_are_not_swept_away(limiter: Limiter, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Steer(limiter, Vegas())


def test_what_is_kept_elsewhere_is_refused_at_once(valkey: Server) -> None:
    limiter = Limiter("20/s", store=valkey.url)

    with pytest.raises(LimitError, match="change: limits kept beyond this machine"):
        Steer(limiter, Vegas())


def test_an_errand_that_is_lost_is_at_work_no_longer() -> None:
    steer = Steer(Limiter("20/s", clock=ManualClock(1.0)), Vegas())
    lost = steer.take()
    before = steer.inside
    del lost
    gc.collect()

    assert before == 1
    until(lambda: steer.inside == 0, "the errand to be given up")


def test_one_that_is_refused_is_not_at_work() -> None:
    steer = Steer(Limiter("1/h", clock=ManualClock(1.0)), Vegas())
    with steer.hold(), pytest.raises(LimitExceeded):
        steer.hold().__enter__()

    assert (bool(steer.take()), steer.inside) == (False, 0)


def test_a_child_does_not_inherit_who_is_at_work() -> None:
    steer = Steer(Limiter("20/s", clock=ManualClock(1.0)), Vegas())
    errand = steer.take()
    with steer._lock:
        child = os.fork()
        if child == 0:
            inside = steer.inside
            errand.success()
            os._exit(0 if inside == steer.inside == 0 else 1)
        _, status = os.waitpid(child, 0)

    assert (os.waitstatus_to_exitcode(status), steer.inside) == (0, 1)
    errand.success()
