"""Any mixture of takes, bookings, cancels and waits keeps to the bound and to an exact model.

The model keeps a bucket in fractions and the moments at which everybody went in. The bound is
counted from those moments alone: in any span `t` at most `burst + rate * t`, a booking's moment
being rounded up to a microsecond.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from headgate import (
    GCRA,
    LeakyBucket,
    Limiter,
    LimitExceeded,
    ManualClock,
    MemoryStore,
    TokenBucket,
)

SMALL = MemoryStore(10)
KINDS = st.sampled_from([TokenBucket, GCRA, LeakyBucket])
RATES = st.sampled_from(["10/s", "3/s", "7/min", "1000/s", "1000000/day", "1/us"])
COSTS = st.integers(1, 12)
SPANS = st.one_of(st.integers(0, 10), st.integers(0, 3_000_000), st.integers(0, 200_000_000))


class Traffic(RuleBasedStateMachine):
    """One key under one limit, and what is true of it."""

    booked = Bundle("booked")

    @initialize(kind=KINDS, rate=RATES, burst=st.integers(1, 10))
    def open(self, kind: Any, rate: str, burst: int) -> None:
        self.clock = ManualClock()
        self.limiter = Limiter(kind(rate, burst=burst), store=SMALL, clock=self.clock)
        self.burst = burst
        given = self.limiter.limits[0].rate
        self.rate = Fraction(given.count, given.period)
        self.level = Fraction(burst)
        self.stamp = 0
        self.acts: dict[int, tuple[int, int]] = {}
        self.number = 0

    def refilled(self) -> Fraction:
        now = self.clock.now()
        self.level = min(Fraction(self.burst), self.level + (now - self.stamp) * self.rate)
        self.stamp = now
        return self.level

    def wait(self, cost: int) -> int:
        return max(0, ceil((cost - self.refilled()) / self.rate))

    def enter(self, cost: int, wait: int) -> int:
        self.level -= cost
        self.number += 1
        self.acts[self.number] = (self.clock.now() + wait, cost)
        return self.number

    @rule(cost=COSTS)
    def take(self, cost: int) -> None:
        wait = self.wait(cost)
        decision = self.limiter.take("k", cost)
        assert bool(decision) == (cost <= self.burst and wait == 0)
        if decision:
            self.enter(cost, 0)
        elif cost <= self.burst:
            assert round(decision.retry_after * 1e6) == wait

    @rule(target=booked, cost=COSTS, timeout=st.sampled_from([0.0, 0.5, 100.0, float("inf")]))
    def reserve(self, cost: int, timeout: float) -> Any:
        wait = self.wait(cost)
        reservation = self.limiter.reserve("k", cost, timeout)
        assert bool(reservation) == (cost <= self.burst and wait <= timeout * 1e6)
        if not reservation:
            return multiple()
        assert round(reservation.wait * 1e6) == wait
        return reservation, self.enter(cost, wait), self.clock.now() + wait

    @rule(one=consumes(booked))
    def cancel(self, one: Any) -> None:
        reservation, number, due = one
        before = self.refilled()
        _, cost = self.acts.pop(number)
        early = max(0, due - self.clock.now()) * self.rate
        late = max(0, self.clock.now() - due) * self.rate
        relied = max(Fraction(0), -before - early) + late
        reservation.cancel()
        after = self.measured()
        # Everything, but for what was booked behind it, what has come in since it was due, which
        # may have spilled over, and the part of a microsecond that was rounded.
        least = min(Fraction(self.burst), before + max(Fraction(0), cost - relied - 2 * self.rate))
        assert least <= after <= min(Fraction(self.burst), before + cost)
        self.level = after

    def measured(self) -> Fraction:
        cells = self.limiter.table.read("k")
        limit: Any = self.limiter.limits[0]
        now = self.clock.now()
        if not cells:
            return Fraction(self.burst)
        if isinstance(limit, TokenBucket):
            level = Fraction(cells[0], limit.scale) + (now - cells[1]) * self.rate
            return min(Fraction(self.burst), level)
        if isinstance(limit, LeakyBucket):
            water = max(0, Fraction(cells[0], limit.scale) - (now - cells[1]) * self.rate)
            return self.burst - water
        filled = max(0, (cells[1] - now) * limit.gain + cells[2])
        return self.burst - Fraction(filled, limit.scale)

    @rule(cost=COSTS, timeout=st.sampled_from([0.0, 0.5, 100.0]))
    def acquire(self, cost: int, timeout: float) -> None:
        wait = self.wait(cost)
        start = self.clock.now()
        if cost > self.burst or wait > timeout * 1e6:
            with pytest.raises(LimitExceeded):
                self.limiter.acquire("k", cost, timeout)
            assert self.clock.now() == start
            return
        number = self.enter(cost, wait)
        permit = self.limiter.acquire("k", cost, timeout)
        assert (round(permit.waited * 1e6), self.clock.now()) == (wait, start + wait)
        assert self.acts[number] == (self.clock.now(), cost)

    @rule(span=SPANS)
    def advance(self, span: int) -> None:
        self.clock.advance(span / 1e6)

    @invariant()
    def no_span_lets_in_more_than_its_bound(self) -> None:
        # Entries in order of time: the worst span that ends here is an extension of the one before.
        worst = last = None
        for moment, cost in sorted(getattr(self, "acts", {}).values()):
            if worst is None:
                worst = Fraction(cost)
            else:
                worst = cost + max(Fraction(0), worst - (moment - last) * self.rate)
            last = moment
            assert worst < self.burst + self.rate


# One of these takes as long as a hundred examples of another property.
Traffic.TestCase.settings = settings(
    max_examples=min(500, settings().max_examples), stateful_step_count=40, deadline=None
)
TestTraffic = Traffic.TestCase
