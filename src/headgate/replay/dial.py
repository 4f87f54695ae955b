"""Dial: a clock that shows the moment of the line which is being replayed."""

from __future__ import annotations


class Dial:
    """A clock that is set by hand; nobody ever sleeps by it. `moment` is in microseconds."""

    __slots__ = ("__weakref__", "moment")

    moment: int

    def __init__(self) -> None:
        self.moment = 0

    def now(self) -> int:
        """The moment of the line."""
        return self.moment

    def sleep(self, seconds: float) -> None:
        """Refused: whoever replays sees to it that nobody has to."""
        raise RuntimeError("nobody sleeps while a log is replayed")

    async def asleep(self, seconds: float) -> None:
        """Refused."""
        self.sleep(seconds)
