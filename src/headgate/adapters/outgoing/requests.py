"""requests: an adapter to mount in a session.

session = requests.Session()
session.mount("https://", Adapter(Pace("10/s")))
"""

from __future__ import annotations

from typing import Any

from headgate.adapters.outgoing.pace import Exchange, Pace
from headgate.errors import MissingExtra

try:
    from requests.adapters import HTTPAdapter
except ImportError:
    raise MissingExtra("requests") from None


class Adapter(HTTPAdapter):
    """Sends what a session sends at a `pace`; `options` are those of `HTTPAdapter`.

    A refused answer that is not the last is closed before the next is asked for. Of a body, text
    and bytes can be sent again; a file or a generator cannot.
    """

    def __init__(self, pace: Pace, **options: Any) -> None:
        if not isinstance(pace, Pace):
            raise TypeError(f'Adapter: pace is a Pace such as Pace("10/s"), not {pace!r}')
        super().__init__(**options)
        self.pace = pace

    def send(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a request when it may go."""
        send = super().send
        exchange = Exchange(
            key=self.pace.name(request, request.url),
            method=request.method,
            send=lambda: send(request, *args, **options),
            close=lambda answer: answer.close(),
            replayable=lambda: request.body is None or isinstance(request.body, str | bytes),
        )
        return self.pace.run(exchange)
