"""httpx and httpx2: a transport around another one, for clients of both colours.

    pace = Pace("10/s")
    httpx.Client(transport=Transport(httpx.HTTPTransport(), pace))
    httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), pace))

The two libraries speak to transports alike, and nothing of either is needed here. Tasks are those
of asyncio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.adapters.outgoing.pace import Exchange, Pace
from headgate.adapters.sheath import Sheath


class Transport(Sheath):
    """Sends what a client sends at a `pace`, through the transport that is `wrapped`.

    A refused answer that is not the last is closed before the next is asked for. A body that was
    streamed, or is made of files, cannot be sent again.
    """

    def __init__(self, wrapped: Any, pace: Pace) -> None:
        super().__init__(wrapped)
        if not isinstance(pace, Pace):
            raise TypeError(f'Transport: pace is a Pace such as Pace("10/s"), not {pace!r}')
        self.pace = pace

    def handle_request(self, request: Any) -> Any:
        """Send a request, as httpx.Client wants it."""
        send = self.wrapped.handle_request
        return self.pace.run(self._exchange(request, send, lambda answer: answer.close()))

    def handle_async_request(self, request: Any) -> Any:
        """Send a request, as httpx.AsyncClient wants it: this is awaited."""
        send = self.wrapped.handle_async_request
        return self.pace.arun(self._exchange(request, send, lambda answer: answer.aclose()))

    def _exchange(
        self, request: Any, send: Callable[[Any], Any], close: Callable[[Any], Any]
    ) -> Exchange:
        return Exchange(
            key=self.pace.name(request, str(request.url)),
            method=request.method,
            send=lambda: send(request),
            close=close,
            replayable=lambda: kept(request),
        )


# One class serves both colours; this name is for those who like to see which.
AsyncTransport = Transport


def kept(request: Any) -> bool:
    """Whether the body is in memory."""
    try:
        return isinstance(request.content, bytes)
    except RuntimeError:
        # It was never read: httpx says so by an error that is one of these.
        return False
