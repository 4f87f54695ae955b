"""httpx and httpx2: a transport around another one, which pays for calls; for both colours.

    fare = Fare("*.internal")
    httpx.Client(transport=Transport(httpx.HTTPTransport(), fare))
    httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), fare))

What paces calls goes outside: each time that a request is sent, it is given its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.adapters.budget.fare import Fare, checked

# Both libraries have a class of their own for transports; to type checkers this is either.
if TYPE_CHECKING:
    Either = Any
else:
    Either = object


class Transport(Either):  # type: ignore[misc]
    """Sends what a client sends through the transport that is `wrapped`, and pays for it."""

    def __init__(self, wrapped: Any, fare: Fare) -> None:
        if not (hasattr(wrapped, "handle_request") or hasattr(wrapped, "handle_async_request")):
            raise TypeError(
                f"Transport: wrapped is a transport such as httpx.HTTPTransport(), not {wrapped!r}"
            )
        self.wrapped = wrapped
        self.fare = checked("Transport", fare)

    def handle_request(self, request: Any) -> Any:
        """Send a request, as httpx.Client wants it."""
        send = self.wrapped.handle_request
        return self.fare.run(request.url.host, request.headers, lambda: send(request))

    def handle_async_request(self, request: Any) -> Any:
        """Send a request, as httpx.AsyncClient wants it: this is awaited."""
        send = self.wrapped.handle_async_request
        return self.fare.arun(request.url.host, request.headers, lambda: send(request))

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


async def entered(transport: Transport) -> Transport:
    await transport.wrapped.__aenter__()
    return transport
