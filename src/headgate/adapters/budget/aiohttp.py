"""aiohttp: a middleware for its client, which pays for calls.

async with aiohttp.ClientSession(middlewares=[middleware(Fare("*.internal"))]) as session: ...
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from headgate.adapters.budget.fare import Fare, checked

Handler = Callable[[Any], Awaitable[Any]]


def middleware(fare: Fare) -> Callable[[Any, Handler], Awaitable[Any]]:
    """What gives a session's requests what they may spend, and takes back what they leave."""
    checked("middleware", fare)

    def paid(request: Any, handler: Handler) -> Awaitable[Any]:
        return fare.arun(request.url.host, request.headers, lambda: handler(request))

    return paid
