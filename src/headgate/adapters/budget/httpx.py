"""httpx and httpx2: a transport around another one, which pays for calls; for both colours.

    fare = Fare("*.internal")
    httpx.Client(transport=Transport(httpx.HTTPTransport(), fare))
    httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), fare))

What paces calls goes outside: each time that a request is sent, it is given its own.
"""

from __future__ import annotations

from typing import Any

from headgate.adapters.budget.fare import Fare, checked
from headgate.adapters.sheath import Sheath


class Transport(Sheath):
    """Sends what a client sends through the transport that is `wrapped`, and pays for it."""

    def __init__(self, wrapped: Any, fare: Fare) -> None:
        super().__init__(wrapped)
        self.fare = checked("Transport", fare)

    def handle_request(self, request: Any) -> Any:
        """Send a request, as httpx.Client wants it."""
        send = self.wrapped.handle_request
        return self.fare.run(request.url.host, request.headers, lambda: send(request))

    def handle_async_request(self, request: Any) -> Any:
        """Send a request, as httpx.AsyncClient wants it: this is awaited."""
        send = self.wrapped.handle_async_request
        return self.fare.arun(request.url.host, request.headers, lambda: send(request))
