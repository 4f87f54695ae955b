"""requests: an adapter to mount in a session, which pays for calls.

session = requests.Session()
session.mount("http://", Adapter(Fare("*.internal")))
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from headgate.adapters.budget.fare import Fare, checked
from headgate.errors import MissingExtra

try:
    from requests.adapters import HTTPAdapter
except ImportError:
    raise MissingExtra("requests") from None

# What was answered is an answer, whatever it says.
UNREPEATED: dict[str, Any] = {"status_forcelist": (), "respect_retry_after_header": False}


class Adapter(HTTPAdapter):
    """Sends what a session sends, and pays for it; `options` are those of `HTTPAdapter`.

    `max_retries` is how often it tries to connect. What was sent is not sent again from in here,
    for what it may spend counts once: who repeats a request has the session send it anew.
    """

    def __init__(self, fare: Fare, **options: Any) -> None:
        super().__init__(**options)
        self.fare = checked("Adapter", fare)
        self.max_retries = self.max_retries.new(read=False, other=0, status=0, **UNREPEATED)

    def send(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a request with what it may spend."""
        send = super().send
        host = urlsplit(request.url).hostname
        return self.fare.run(host, request.headers, lambda: send(request, *args, **options))
