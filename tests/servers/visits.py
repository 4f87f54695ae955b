"""What a server saw of the requests that reached it, as a value that can be compared."""

from __future__ import annotations

from typing import NamedTuple


class Visit(NamedTuple):
    """One request, in the words of the server that was asked.

    `headers` are in lower case and in their order. One that is not `whole` ended before its body
    did, or was no HTTP at all; then `method` and `target` may be empty.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    whole: bool = True

    def all(self, name: str) -> list[str]:
        """Every line of a header."""
        return [value for word, value in self.headers if word == name]


BROKEN = Visit("", "", whole=False)
