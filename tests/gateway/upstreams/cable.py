"""What the tests connect to servers with: it knows whether it was closed."""

from __future__ import annotations


class Cable:
    """A connection that leads nowhere."""

    def __init__(self) -> None:
        self.expires = 0
        self.closed = 0

    def close(self) -> None:
        """Count it."""
        self.closed += 1
