"""Readiness: whether whoever asks now would be answered as the rules will have it.

A store in this process or on this machine is there whenever we are. One on a server is asked, at
most once a second however often somebody wants to know, and within the time that any question may
take. While it does not answer, decisions are made as each rule's `when_unavailable` says; that is
something to know before one is sent more of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

from headgate.algorithms.token_bucket import TokenBucket
from headgate.measures import MILLION
from headgate.rules.model.store import masked

logger = logging.getLogger("headgate.service")

# What is found out is believed for so many microseconds.
FRESH = MILLION
# The name under which a store is asked, which is that of no rule.
NAME = "@ready"
# What is asked about: it is only looked at, never spent.
PROBE = (TokenBucket("1/s"),)
DRAINING = "The service is draining."


class Standing:
    """Whether all is well: true if it is, and else `problem` says what is not."""

    __slots__ = ("problem",)

    def __init__(self, problem: str = "") -> None:
        self.problem = problem

    def __bool__(self) -> bool:
        return not self.problem

    def __repr__(self) -> str:
        return f"<Standing: {self.problem or 'ready'}>"


READY = Standing()


class Readiness:
    """Knows how a hall stands: `readiness()` is a `Standing`, or is to be awaited for one."""

    def __init__(self, hall: Any) -> None:
        self._hall = hall
        self._found = READY
        # What was found out about which store, and until when it is believed.
        self._shelf: Any = None
        self._until = 0
        self._asking: asyncio.Task[Standing] | None = None

    def __call__(self) -> Standing | Awaitable[Standing]:
        if self._hall.closing:
            return Standing(DRAINING)
        shelf = self._hall.keeper.lodge._shelf
        if not shelf.far:
            return READY
        now = self._hall.house.now
        if shelf is self._shelf and self._until - FRESH <= now < self._until:
            return self._found
        if self._asking is None:
            self._asking = self._hall.loop.create_task(self._ask(shelf))
            self._asking.add_done_callback(self._end)
        # Whoever asks may leave before there is an answer; others wait for it as well.
        return asyncio.shield(self._asking)

    async def _ask(self, shelf: Any) -> Standing:
        found = READY
        limiter = shelf.limiter(shelf.era, NAME, PROBE, "deny", False)
        try:
            decision = await limiter.peek("", 0)
        except Exception as problem:
            logger.warning("%s cannot be asked", masked(shelf.url), exc_info=problem)
            found = gone(shelf)
        else:
            if decision.reason == "unavailable":
                found = gone(shelf)
        self._found, self._shelf = found, shelf
        self._until = self._hall.house.now + FRESH
        return found

    def _end(self, _: object) -> None:
        self._asking = None

    def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()


def gone(shelf: Any) -> Standing:
    """What is said of a store that does not answer."""
    return Standing(f"The store {masked(shelf.url)} does not answer.")
