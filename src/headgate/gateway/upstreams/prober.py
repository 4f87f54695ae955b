"""Prober: has every server of a group asked how it is, again and again, and takes note."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from headgate.clock import Clock
from headgate.gateway.upstreams.group import Group
from headgate.gateway.upstreams.server import Server
from headgate.measures import MILLION
from headgate.rules.model.place import Place

# What is wrong with the server of a place; nothing if it is well.
Ask = Callable[[Place], Awaitable[str]]

logger = logging.getLogger("headgate")


class Prober:
    """Asks the servers of a group as often as its terms for health say, in a task of its own.

    Each has its own moment within that time, a little by chance: neither the servers nor the
    gateways of a fleet come together. Whatever goes wrong with a check speaks against its server,
    and ends nothing.
    """

    def __init__(self, group: Group, ask: Ask, clock: Clock) -> None:
        self._group = group
        self._health = group.upstream.health
        self._ask = ask
        self._clock = clock
        self._luck = random.Random()  # noqa: S311 - spreads, keeps no secret
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the loop that runs."""
        self._task = asyncio.create_task(self._tend())

    async def close(self) -> None:
        """Stop; when it returns, no check is under way."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _tend(self) -> None:
        servers = self._group.servers
        slot = self._health.every / len(servers)
        async with asyncio.TaskGroup() as tasks:
            for number, server in enumerate(servers):
                tasks.create_task(self._watch(server, slot * (number + self._luck.random())))

    async def _watch(self, server: Server, delay: float) -> None:
        every = self._health.every
        await self._clock.asleep(delay)
        while True:
            begun = self._clock.now()
            self._note(server, await self._check(server))
            await self._clock.asleep(every - (self._clock.now() - begun) / MILLION)

    async def _check(self, server: Server) -> str:
        patience = self._health.timeout
        try:
            async with asyncio.timeout(patience):
                return await self._ask(server.place)
        except TimeoutError:
            return f"no answer within {patience:g} s"
        except Exception as problem:
            return str(problem) or type(problem).__name__

    def _note(self, server: Server, trouble: str) -> None:
        pulse = server.pulse
        if pulse is None or not pulse.note(not trouble):
            return
        self._group.settle()
        who = f"upstream {self._group.name}: {server.name}"
        if not trouble:
            logger.info("%s is well again", who)
        elif server.down:
            logger.warning("%s is down: %s", who, trouble)
            server.clear()
        else:
            logger.warning("%s is not well: %s; no server is, so all are asked", who, trouble)
