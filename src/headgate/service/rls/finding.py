"""Finding: what became of one descriptor, and what undoes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

from headgate.decision import Decision
from headgate.service.rls.messages import OK, OVER_LIMIT
from headgate.service.rls.scribe import MILLION, status


class Back(NamedTuple):
    """What gives units back to one limiter, and what is said of its `limits`."""

    refund: Callable[[], Any]
    sayings: dict[str, bytes]
    limits: tuple[Any, ...]


class Finding:
    """Whether a descriptor is `over`, and the limit, the rest and the wait that its status tells.

    It is `shadowed` if it only would be. `count` is how much fits into the limit. `bookings` are
    what it took, of so many hits, and `back` what it gives back once the whole call may go in. A
    `quota` only refuses with all others of its kind.
    """

    __slots__ = (
        "back", "bookings", "count", "hits", "limit", "metadata", "over", "quota", "remaining",
        "shadowed", "wait",
    )  # fmt: skip

    def __init__(self, limit: bytes = b"", remaining: int = 0) -> None:
        self.over = self.quota = self.shadowed = False
        self.limit = limit
        self.remaining = remaining
        self.wait = self.hits = self.count = 0
        self.bookings: tuple[Any, ...] = ()
        self.back: tuple[Back, ...] = ()
        self.metadata: Mapping[str, Any] | None = None

    def take(self, decision: Decision, rest: int) -> None:
        """Tell of a decision; `rest` is how long to wait where it does not say."""
        self.remaining = decision.remaining
        self.count = decision.limit
        wait = decision.reset_after if decision else decision.retry_after
        self.wait = rest if wait in (0.0, inf) else round(wait * MILLION)

    @property
    def left(self) -> int:
        """What is left when all is given back."""
        return self.remaining + (self.hits if self.bookings else 0)

    def status(self, refused: bool) -> bytes:
        """How it is told, in a call that was refused or not."""
        code = OVER_LIMIT if self.over else OK
        return status(code, self.limit, self.left if refused else self.remaining, self.wait)
