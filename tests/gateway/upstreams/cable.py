"""What the tests connect to servers with: it knows whether it was closed, and by whom."""

from __future__ import annotations


class Cable:
    """A connection that leads nowhere."""

    def __init__(self) -> None:
        self.expires = 0
        self.closed = 0
        self.over = False

    def ready(self) -> bool:
        """Whether the other side has not hung up."""
        return not self.over

    def close(self) -> None:
        """Count it."""
        self.closed += 1
