"""Callers: both colours of the store on any server, spoken to in one way."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from headgate import AsyncLimiter, AsyncReservation, Clock, Limit, Limiter
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import RedisStore
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.sentinels import Sentinels

COLOURS = ["sync", "async"]
# Seconds: what is tried here is right or wrong, and a busy machine is neither.
BUDGET = 10.0

Place = Server | Cluster | Sentinels
numbers = count()


class Caller:
    """A store of one colour, whose verbs are run to their end where they are called.

    Names are its own unless they are given, so that no caller meets the state of another.
    """

    def __init__(self, server: Any, colour: str = "sync", **options: Any) -> None:
        options = {"budget": BUDGET, **options}
        self.colour = colour
        self.runner = asyncio.Runner() if colour == "async" else None
        self.store = (AsyncRedisStore if self.runner else RedisStore)(server, **options)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, limits: tuple[Limit, ...], name: str = "", clock: Clock | None = None) -> Any:
        """The ledger of `limits`."""
        return Finished(self, self.store.open(limits, name or f"caller-{next(numbers)}", clock))

    def limiter(self, *limits: Any, **options: Any) -> Any:
        """A limiter that raises what goes wrong with the store."""
        options = {"name": f"caller-{next(numbers)}", "when_unavailable": "raise", **options}
        kind = AsyncLimiter if self.runner else Limiter
        return Finished(self, kind(*limits, store=self.store, **options))

    def run(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What `call` comes to, in the caller's event loop if it has one."""
        if self.runner is None:
            return call(*args, **options)

        async def wait() -> Any:
            answer = call(*args, **options)
            return await answer if inspect.isawaitable(answer) else answer

        return self.runner.run(wait())

    def close(self) -> None:
        """Hang up."""
        self.run(self.store.close)
        if self.runner is not None:
            self.runner.close()


class Finished:
    """A thing of a caller's whose verbs are run to their end."""

    def __init__(self, caller: Caller, thing: Any) -> None:
        self.caller = caller
        self.thing = thing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.thing, name)
        return self.finish(found) if callable(found) else found

    def finish(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            answer = self.caller.run(verb, *args, **options)
            return Finished(self.caller, answer) if isinstance(answer, AsyncReservation) else answer

        return run

    def __bool__(self) -> bool:
        return bool(self.thing)


def lines(server: Server) -> set[str]:
    """The connections a server has, but for the one it is asked on."""
    with server.wire() as wire:
        own = wire.ask("CLIENT", "ID")
        found = re.findall(r"^id=(\d+) ", wire.ask("CLIENT", "LIST"), re.MULTILINE)
    return set(found) - {str(own)}


def url(place: Place) -> str:
    """The URL of a server, a cluster, or what sentinels watch."""
    if isinstance(place, Server):
        return place.url
    hosts = ",".join(f"127.0.0.1:{port}" for port in place.ports)
    if isinstance(place, Cluster):
        return f"redis+cluster://{hosts}"
    return f"redis+sentinel://{hosts}/{place.service}"
