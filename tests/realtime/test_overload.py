"""Overload: five times what a service can do, for some seconds, on the machine's own clock.

The service does one thing at a time, each takes it ten milliseconds, and whoever waits longer than
half a second has gone when it is done. Only shares are asserted, of what was done and of the time
there was, so that a slow machine makes the service slower but not worse.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import pytest

from headgate import Bulkhead
from headgate.adaptive.bbr import BBR

pytestmark = pytest.mark.realtime

COST, PATIENCE = 0.01, 0.5
# Half the load to begin with, then the overload, which is measured once it has settled.
WARM, SETTLE, MEASURED = 2.0, 2.0, 4.0
LOAD = 5


@dataclass
class Service:
    """One desk, and a line in front of it."""

    bulkhead: Bulkhead | None
    desk: asyncio.Lock = field(default_factory=asyncio.Lock)
    standing: int = 0
    busy: float = 0.0
    good: int = 0
    late: int = 0
    refused: int = 0
    refusals: list[float] = field(default_factory=list)

    def lined(self) -> float:
        """The signal: whether anybody stands in line."""
        return 1.0 if self.standing > 1 else 0.0

    async def visit(self) -> None:
        """Be refused at once, or be served, in time or too late."""
        came = time.monotonic()
        if self.bulkhead is None:
            await self.serve(came)
            return
        slot = self.bulkhead.take()
        if not slot:
            self.refused += 1
            self.refusals.append(time.monotonic() - came)
            return
        with slot:
            await self.serve(came)

    async def serve(self, came: float) -> None:
        self.standing += 1
        async with self.desk:
            start = time.monotonic()
            await asyncio.sleep(COST)
            done = time.monotonic()
        self.standing -= 1
        self.busy += done - start
        if done - came <= PATIENCE:
            self.good += 1
        else:
            self.late += 1

    def forget(self) -> None:
        """Count from here."""
        self.busy = 0.0
        self.good = self.late = self.refused = 0
        self.refusals.clear()


async def overload(service: Service) -> float:
    """Let visitors come, in the end at five times the capacity; the seconds that were measured."""
    visits: set[asyncio.Task[None]] = set()
    await come(service, visits, 0.5, WARM)
    await come(service, visits, LOAD, SETTLE)
    service.forget()
    begun = time.monotonic()
    await come(service, visits, LOAD, MEASURED)
    seconds = time.monotonic() - begun
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
    return seconds


async def come(
    service: Service, visits: set[asyncio.Task[None]], load: float, seconds: float
) -> None:
    """Let them come at so many times the capacity, for so long."""
    due = time.monotonic()
    end = due + seconds
    while (now := time.monotonic()) < end:
        while due <= now:
            due += COST / load
            visit = asyncio.ensure_future(service.visit())
            visits.add(visit)
            visit.add_done_callback(visits.discard)
        await asyncio.sleep(COST / LOAD)


def played(limited: bool) -> tuple[Service, float]:
    async def main() -> tuple[Service, float]:
        service = Service(None)
        if limited:
            service.bulkhead = Bulkhead(BBR(signal=service.lined))
        return service, await overload(service)

    return asyncio.run(main())


def test_under_overload_bbr_does_what_can_be_done_and_does_it_in_time() -> None:
    service, seconds = played(limited=True)

    # The desk was hardly ever idle, nearly all it did was in time, and the rest was sent away.
    assert service.busy >= 0.8 * seconds
    assert service.good >= 0.9 * (service.good + service.late)
    assert service.refused >= service.good


def test_without_a_limit_the_same_service_works_for_those_who_have_gone() -> None:
    service, seconds = played(limited=False)

    assert service.busy >= 0.8 * seconds
    assert service.good <= 0.1 * (service.good + service.late)
