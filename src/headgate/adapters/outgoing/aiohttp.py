"""aiohttp: a middleware for its client.

    async with aiohttp.ClientSession(middlewares=[middleware(Pace("10/s"))]) as session: ...

It needs aiohttp 3.12 or newer, whose clients have middlewares. With an older one, `Pace.arun` an
`Exchange` whose `send` is `lambda: session.get(url)` and whose `close` awaits `answer.release()`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from headgate.adapters.outgoing.pace import Exchange, Pace

Handler = Callable[[Any], Awaitable[Any]]


def middleware(pace: Pace) -> Callable[[Any, Handler], Awaitable[Any]]:
    """What sends a session's requests at a `pace`.

    A refused answer that is not the last is released before the next is asked for. A body that is
    in memory can be sent again; a file or a stream cannot.
    """
    if not isinstance(pace, Pace):
        raise TypeError(f'middleware: pace is a Pace such as Pace("10/s"), not {pace!r}')

    async def paced(request: Any, handler: Handler) -> Any:
        exchange = Exchange(
            key=pace.name(request, str(request.url)),
            method=request.method,
            send=lambda: handler(request),
            close=lambda answer: answer.release(),
            replayable=lambda: kept(request.body),
        )
        return await pace.arun(exchange)

    return paced


def kept(body: Any) -> bool:
    """Whether the body is in memory, and all of it is still there: asked after it was sent."""
    if isinstance(body, bytes):
        return True
    return bool(getattr(body, "autoclose", False)) and not getattr(body, "consumed", True)
