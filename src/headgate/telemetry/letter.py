"""Letters: one HTTP request that nobody follows elsewhere, and whose answer is only whether."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

# How long a connection may take, and each part of the answer.
PATIENCE = 5.0
# What may be otherwise next time.
PASSING = (408, 425, 429)


class Unsent(Exception):
    """It was not taken; `passing` is whether it may be, next time."""

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = PATIENCE) -> None:
    """Send it; raises `Unsent` unless the answer is 2xx. It goes there and nowhere else: no proxy
    that the environment names is asked, and no redirect is followed.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        line: HTTPConnection = HTTPSConnection(
            host, parts.port, timeout=seconds, context=ssl.create_default_context()
        )
    else:
        line = HTTPConnection(host, parts.port, timeout=seconds)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        line.request("POST", target, body, dict(headers))
        with line.getresponse() as answer:
            status = answer.status
    except ssl.SSLCertVerificationError as problem:
        raise Unsent(f"its certificate is not believed: {problem.verify_message}", False) from None
    except (OSError, HTTPException) as problem:
        raise Unsent(str(problem) or type(problem).__name__, True) from None
    finally:
        line.close()
    if 300 <= status < 400:
        raise Unsent(f"it answers with {status}, and redirects are not followed", False)
    if not 200 <= status < 300:
        raise Unsent(f"it answers with {status}", status >= 500 or status in PASSING)
