"""Calls as Envoy makes them, and their answers, for tests of what decides them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from headgate import ManualClock
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.rules import Rules
from headgate.service.rls.case import Terms
from headgate.service.rls.domains import parse
from headgate.service.rls.messages import UNITS, Request, Response
from headgate.service.rls.ratelimit import RateLimit
from headgate.service.sets import Sets

# A moment that begins a minute, an hour and a day, but neither a week, a month nor a year.
NOON = 20_003 * 86_400.0
NOTHING = Rules()


class Desk:
    """Files, rules, and a clock that is moved by hand."""

    def __init__(
        self,
        *files: str,
        rules: Rules = NOTHING,
        terms: Terms | None = None,
        store: str = "memory://",
        clock: ManualClock | None = None,
    ) -> None:
        self.clock = ManualClock(NOON) if clock is None else clock
        self.keeper = AsyncGatekeeper(rules, store, self.clock)
        self.sets = Sets(store, self.clock)
        self.limit = RateLimit(self.keeper, self, store, self.clock)
        self.terms = terms
        self.change(*files)

    @property
    def loop(self) -> Any:
        """The loop that tests run in."""
        return asyncio.get_running_loop()

    def change(self, *files: str) -> None:
        """Go by other files."""
        self.limit.change([parse(file)[0] for file in files], self.terms)

    def ask(self, domain: str, *descriptors: Any, hits: int = 0) -> Any:
        """The answer to a call."""
        answer = self.limit.answer(call(domain, *descriptors, hits=hits))
        assert isinstance(answer, bytes)
        return Response.FromString(answer)

    async def await_(self, domain: str, *descriptors: Any, hits: int = 0) -> Any:
        """The answer to a call, where the store is on a server."""
        answer = self.limit.answer(call(domain, *descriptors, hits=hits))
        assert isinstance(answer, Awaitable)
        return Response.FromString(await answer)

    def codes(self, domain: str, *descriptors: Any, hits: int = 0) -> list[str]:
        """What is said of the call, and of each descriptor."""
        return codes(self.ask(domain, *descriptors, hits=hits))

    async def close(self) -> None:
        """Let go of the store."""
        await self.limit.close()
        answer = self.sets.close()
        if answer is not None:
            await answer
        await self.keeper.close()


def call(domain: str, *descriptors: Any, hits: int = 0) -> bytes:
    """A call: each descriptor is a mapping, or what `priced` or `limited` make of one."""
    request = Request(domain=domain, hits_addend=hits)
    for one in descriptors:
        entries, more = (one, {}) if isinstance(one, dict) else one
        told = request.descriptors.add()
        for key, value in entries.items():
            told.entries.add(key=key, value=value)
        if "hits" in more:
            told.hits_addend.value = abs(more["hits"])
            told.hits_addend.SetInParent()
            told.is_negative_hits = more["hits"] < 0
        if "limit" in more:
            told.limit.requests_per_unit, told.limit.unit = more["limit"]
    raw: bytes = request.SerializeToString()
    return raw


def priced(hits: int, **entries: str) -> tuple[dict[str, str], dict[str, Any]]:
    """A descriptor with hits of its own."""
    return entries, {"hits": hits}


def limited(count: int, unit: str, **entries: str) -> tuple[dict[str, str], dict[str, Any]]:
    """A descriptor that brings a limit along."""
    return entries, {"limit": (count, UNITS.index(unit))}


def codes(response: Any) -> list[str]:
    """The codes of an answer: of all, then of each descriptor."""
    words = ("UNKNOWN", "OK", "OVER_LIMIT")
    return [words[response.overall_code], *(words[one.code] for one in response.statuses)]


def stand(response: Any, place: int = 0) -> tuple[str, int, str, int, int]:
    """How it stands with a descriptor: code, limit, unit, what is left, seconds."""
    one = response.statuses[place]
    limit = one.current_limit
    unit = UNITS[limit.unit]
    code = codes(response)[1 + place]
    seconds = one.duration_until_reset.seconds
    return code, limit.requests_per_unit, unit, one.limit_remaining, seconds
