"""The contract of permits: places that several processes share, at most `limit` for each key.

Who goes in gets a ticket and gives it back when leaving. A process that dies gives nothing back, so
every permit is lent for a time and kept up while its holder lives; when the time is over, others
may have it. Whoever is held up for longer than that, and goes on, is inside besides those who were
let in since: a zombie. So there are never more inside than `limit` and the zombies, and each of
them is counted and reported as soon as its process finds out.
"""

from __future__ import annotations

from typing import Any, Protocol


class Permits(Protocol):
    """Places for each key. Where a store is reached in an event loop, the same verbs are awaited.

    A ticket is known to the permits that gave it and to no others: not to another process, and
    not to a forked child.
    """

    # Whether the verbs are awaited, and whether a server is asked, which takes its time.
    awaited: bool
    remote: bool

    @property
    def limit(self) -> int:
        """How many may be inside at once, for each key."""

    @property
    def zombies(self) -> int:
        """How many holders of this process have outlived their permit so far."""

    def enter(self, key: str) -> Any:
        """A ticket, or None if all places are taken; raises `StoreUnavailable`."""

    def leave(self, key: str, ticket: Any) -> bool:
        """Give a place back; False if it had been lost meanwhile, or was given back before.

        Too late or twice does no harm. It does not raise when the store cannot be asked: the place
        is then given back as soon as it can be.
        """

    def drop(self, key: str, ticket: Any) -> None:
        """Give a place back from wherever one is, without waiting for it; in either colour."""

    def inside(self, key: str) -> int:
        """How many places are held now, by everybody; raises `StoreUnavailable`."""

    def close(self) -> None:
        """Give back what is still held, and hang up."""
