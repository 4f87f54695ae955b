"""Limiters in both colours, spoken to in one way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate import AsyncLimiter, AsyncReservation, Limiter, ManualClock

Make = Callable[..., Any]


class Awaited:
    """An async thing whose verbs are run to their end where they are called."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if name in {"guard", "listen"} or not callable(found):
            return found
        return lambda *args, **kwargs: finish(found(*args, **kwargs))

    def __bool__(self) -> bool:
        return bool(self._thing)

    def __repr__(self) -> str:
        return repr(self._thing)


def finish(awaitable: Awaitable[Any]) -> Any:
    """What `awaitable` comes to in an event loop of its own."""

    async def main() -> Any:
        return await awaitable

    result = asyncio.run(main())
    return Awaited(result) if isinstance(result, AsyncReservation) else result


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest, clock: ManualClock) -> Make:
    """Makes a limiter of either colour on the test's clock."""
    if request.param == "sync":
        return lambda *limits, **options: Limiter(*limits, **{"clock": clock, **options})
    return lambda *limits, **options: Awaited(AsyncLimiter(*limits, **{"clock": clock, **options}))
