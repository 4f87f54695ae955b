"""httpx and httpx2: a transport around another one, for clients of both colours.

    pace = Pace("10/s")
    httpx.Client(transport=Transport(httpx.HTTPTransport(), pace))
    httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), pace))

The two libraries speak to transports alike, and nothing of either is needed here. Tasks are those
of asyncio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headgate.adapters.outgoing.pace import Exchange, Pace

# Both libraries have a class of their own for transports; to type checkers this is either.
if TYPE_CHECKING:
    Either = Any
else:
    Either = object


class Transport(Either):  # type: ignore[misc]
    """Sends what a client sends at a `pace`, through the transport that is `wrapped`.

    A refused answer that is not the last is closed before the next is asked for. A body that was
    streamed, or is made of files, cannot be sent again.
    """

    def __init__(self, wrapped: Any, pace: Pace) -> None:
        if not (hasattr(wrapped, "handle_request") or hasattr(wrapped, "handle_async_request")):
            raise TypeError(
                f"Transport: wrapped is a transport such as httpx.HTTPTransport(), not {wrapped!r}"
            )
        if not isinstance(pace, Pace):
            raise TypeError(f'Transport: pace is a Pace such as Pace("10/s"), not {pace!r}')
        self.wrapped = wrapped
        self.pace = pace

    def handle_request(self, request: Any) -> Any:
        """Send a request, as httpx.Client wants it."""
        send = self.wrapped.handle_request
        return self.pace.run(self._exchange(request, send, lambda answer: answer.close()))

    def handle_async_request(self, request: Any) -> Any:
        """Send a request, as httpx.AsyncClient wants it: this is awaited."""
        send = self.wrapped.handle_async_request
        return self.pace.arun(self._exchange(request, send, lambda answer: answer.aclose()))

    def close(self) -> None:
        """Close the one that is wrapped."""
        self.wrapped.close()

    def aclose(self) -> Any:
        """The same, awaited."""
        return self.wrapped.aclose()

    def __enter__(self) -> Any:
        self.wrapped.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.wrapped.__exit__(*exc)

    def __aenter__(self) -> Any:
        return entered(self)

    def __aexit__(self, *exc: object) -> Any:
        return self.wrapped.__aexit__(*exc)

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


async def entered(transport: Transport) -> Transport:
    await transport.wrapped.__aenter__()
    return transport


def kept(request: Any) -> bool:
    """Whether the body is in memory."""
    try:
        return isinstance(request.content, bytes)
    except RuntimeError:
        # It was never read: httpx says so by an error that is one of these.
        return False
