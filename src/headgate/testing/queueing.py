"""The queueing simulator: a service of known capacity, driven in virtual time through a door.

    clock = ManualClock()
    service = Service(workers=20, latency=0.2)
    run = overload(Bulkhead(Vegas(), clock=clock), service, poisson(150.0), seconds=60.0)
    assert run.goodput(since=30.0) > 90.0

A service has workers, each of whom serves one call at a time; calls that find none wait in its own
queue, which knows no bound. That is what falls over: a limit is for nobody to wait there.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

from headgate.bulkheads.bulkhead import Bulkhead
from headgate.bulkheads.fleet_slot import FleetSlot
from headgate.bulkheads.slot import Slot
from headgate.clock import ManualClock
from headgate.steer import Errand, Steer


class Call(NamedTuple):
    """One call: when it came in, the slot it holds, and the try of its client."""

    began: float
    slot: Slot | FleetSlot | Errand
    attempt: int


class Service:
    """`workers` who take `latency` seconds for a call, give or take the share `noise`."""

    def __init__(self, workers: int, latency: float, noise: float = 0.0) -> None:
        self.workers = workers
        self.latency = latency
        self.noise = noise
        self.busy = 0
        self.queue: deque[Call] = deque()

    @property
    def capacity(self) -> float:
        """How many calls a second it can serve."""
        return self.workers / self.latency

    def load(self) -> float:
        """The share of workers who are busy: what its machine would show as CPU."""
        return min(1.0, self.busy / self.workers)

    def takes(self, chance: random.Random) -> float:
        """How long this call takes."""
        return self.latency * max(0.05, chance.gauss(1.0, self.noise))


class Moment(NamedTuple):
    """How it was at `at` seconds: how many were inside."""

    at: float
    inside: int


class Run:
    """What happened: every call that was served, every refusal, and how it was now and then."""

    def __init__(self) -> None:
        self.served: list[tuple[float, float]] = []
        self.refused: list[float] = []
        self.moments: list[Moment] = []

    def goodput(self, since: float = 0.0, until: float = inf, within: float = inf) -> float:
        """Calls a second that were served in `within` seconds, from `since` to `until`."""
        good = sum(since <= at < until and took <= within for at, took in self.served)
        last = min(until, self.moments[-1].at)
        return good / max(1e-9, last - since)

    def latency(self, share: float, since: float = 0.0, until: float = inf) -> float:
        """The seconds within which that share of calls was served."""
        took = sorted(took for at, took in self.served if since <= at < until)
        return took[min(len(took) - 1, int(share * len(took)))] if took else inf

    def inside(self, share: float, since: float = 0.0, until: float = inf) -> int:
        """How many were inside at most for that share of the time."""
        counts = sorted(one.inside for one in self.moments if since <= one.at < until)
        return counts[min(len(counts) - 1, int(share * len(counts)))] if counts else 0


def poisson(rate: float) -> Callable[[random.Random], Iterator[float]]:
    """Calls that know nothing of each other, so many a second."""

    def arrivals(chance: random.Random) -> Iterator[float]:
        at = 0.0
        while True:
            at += chance.expovariate(rate)
            yield at

    return arrivals


def surge(
    rate: float, peak: float, since: float, until: float
) -> Callable[[random.Random], Iterator[float]]:
    """Like `poisson`, but for a while there are many more: `peak` a second instead of `rate`."""

    def arrivals(chance: random.Random) -> Iterator[float]:
        at = 0.0
        while True:
            at += chance.expovariate(peak if since <= at < until else rate)
            yield at

    return arrivals


def overload(
    door: Bulkhead | Steer,
    service: Service,
    arrivals: Callable[[random.Random], Iterator[float]],
    seconds: float,
    changes: tuple[tuple[float, Callable[[Service], object]], ...] = (),
    retries: int = 0,
    patience: float = inf,
    seed: int = 0,
) -> Run:
    """Drive the service through the door for so many seconds, and tell what happened.

    `changes` are made to the service at their moments. Clients who are refused, or not served in
    `patience` seconds, try again up to `retries` times, a little later: a retry storm.
    """
    chance = random.Random(seed)  # noqa: S311 - drawn anew the same
    play = Play(door, service, chance, retries, patience)
    for at, change in changes:
        play.at(at, partial(change, service))
    for number in range(int(seconds * 20)):
        play.at(number / 20, play.look)
    play.arrive(arrivals(play.chance), seconds)
    play.go(seconds)
    return play.run


class Play:
    """A run on its way: what is to happen when."""

    def __init__(
        self,
        door: Bulkhead | Steer,
        service: Service,
        chance: random.Random,
        retries: int,
        patience: float,
    ) -> None:
        if not isinstance(door.clock, ManualClock):
            raise TypeError(f"overload: the door's clock is a ManualClock, not {door.clock!r}")
        self.door = door
        self.clock = door.clock
        self.service = service
        self.chance = chance
        self.retries = retries
        self.patience = patience
        self.now = 0.0
        self.run = Run()
        self.agenda: list[tuple[float, int, Callable[[], Any]]] = []
        self.tickets = itertools.count()
        self.inside: set[Call] = set()

    def at(self, moment: float, act: Callable[[], Any]) -> None:
        """Do it then."""
        heapq.heappush(self.agenda, (moment, next(self.tickets), act))

    def go(self, until: float) -> None:
        """Do all there is to do until then, and let those who are inside go."""
        while self.agenda:
            moment, _, act = heapq.heappop(self.agenda)
            if moment <= until:
                self.now = moment
                self.clock.set(moment)
                act()
        for call in self.inside:
            call.slot.ignore()

    def look(self) -> None:
        inside = self.service.busy + len(self.service.queue)
        self.run.moments.append(Moment(self.now, inside))

    def arrive(self, arrivals: Iterator[float], until: float) -> None:
        """The next client comes, and the one after it."""
        at = next(arrivals)
        if at < until:
            self.at(at, partial(self.ask, 1))
            self.at(at, partial(self.arrive, arrivals, until))

    def ask(self, attempt: int) -> None:
        slot = self.door.take()
        if not slot:
            self.run.refused.append(self.now)
            self.again(attempt)
            return
        call = Call(self.now, slot, attempt)
        self.inside.add(call)
        if self.patience < inf:
            self.at(self.now + self.patience, partial(self.tire, call))
        self.service.queue.append(call)
        self.serve()

    def serve(self) -> None:
        """Whoever has nothing to do takes the next call."""
        service = self.service
        while service.queue and service.busy < service.workers:
            service.busy += 1
            call = service.queue.popleft()
            self.at(self.now + service.takes(self.chance), partial(self.finish, call))

    def finish(self, call: Call) -> None:
        self.service.busy -= 1
        self.inside.remove(call)
        took = self.now - call.began
        if took <= self.patience:
            call.slot.success()
            self.run.served.append((self.now, took))
        else:
            # Served, and nobody is there any more.
            call.slot.dropped()
        self.serve()

    def tire(self, call: Call) -> None:
        """Whoever is still waiting gives up, and comes again; its call goes on."""
        if call in self.inside:
            self.again(call.attempt)

    def again(self, attempt: int) -> None:
        if attempt <= self.retries:
            self.at(self.now + self.chance.uniform(0.05, 0.15), partial(self.ask, attempt + 1))
