"""Rounds: what all workers see, and once a second a look at whether any of it is alarming."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from headgate.clock import Clock
from headgate.rules.model.rules import Rules
from headgate.telemetry.bells import Bells, Source
from headgate.telemetry.patrol import ROUND, Patrol
from headgate.telemetry.reading import Reading
from headgate.workers.crew import Crew

logger = logging.getLogger("headgate.workers")


class Office(Protocol):
    """Whose readings are looked at."""

    rules: Rules
    draining: bool
    crew: Crew


class Rounds:
    """Looks as long as the rules in force have something to look for."""

    def __init__(self, office: Office, serves: str, clock: Clock) -> None:
        self._office = office
        self._serves = serves
        self._clock = clock
        self._patrol: Patrol | None = None

    async def reading(self) -> Reading:
        """What all workers see, as if they were one."""
        found = await self._office.crew.reading(self._office.rules)
        return {**found, "alerts": [] if self._patrol is None else self._patrol.told}

    async def walk(self) -> None:
        """Look again and again; who drains leaves that to another."""
        while not self._office.draining:
            try:
                await self._look()
            except Exception:
                logger.exception("alerts could not be judged; they are looked at again")
            await self._clock.asleep(ROUND)

    def close(self) -> None:
        """Tell nobody any more."""
        if self._patrol is None:
            return
        self._patrol.close()

    async def _look(self) -> None:
        terms = self._office.rules.alerts
        if terms is None:
            patrol, self._patrol = self._patrol, None
            if patrol is not None:
                # What waits to be told has a moment, which is not the master's.
                await asyncio.to_thread(patrol.close)
        elif self._patrol is None:
            self._patrol = self._begin(terms)
        else:
            self._patrol.change(terms)
        if self._patrol is not None:
            self._patrol.judge(await self.reading())

    def _begin(self, terms: Any) -> Patrol:
        bells = Bells(terms, Source(self._serves), self._clock)
        return Patrol(unasked, terms, self._clock, bells)


def unasked() -> Reading:
    """Readings are brought along, by an event loop that waits for them."""
    raise asyncio.InvalidStateError("there are only the readings that are brought along")
