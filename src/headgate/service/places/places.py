"""The contract of places: at most so many holders of a key, each until a moment of its own.

Who holds a place is a name, and nobody's process: a place outlives the worker that gave it, any
other can renew it or give it back, and when its time is over it is free, without anybody having to
notice. Answers are given at once, or awaited where the store is on a server.
"""

from __future__ import annotations

from typing import Any, Protocol


class Places(Protocol):
    """Who holds what. Raises `StoreUnavailable` where that cannot be known."""

    def enter(self, title: str, key: str, name: str, limit: int, ttl: int) -> Any:
        """How many hold a place of the key once `name` does, for `ttl` microseconds.

        0 if there are `limit` already. Who holds one is not counted twice.
        """

    def renew(self, title: str, key: str, name: str, ttl: int) -> Any:
        """Hold it for `ttl` from now on; False if its time was over, or it was given back."""

    def leave(self, title: str, key: str, name: str) -> Any:
        """Give it back; False if its time was over, or it was given back before."""

    def inside(self, title: str, key: str) -> Any:
        """How many hold a place now."""

    def close(self) -> None:
        """Let go of what was opened; who holds a place goes on holding it."""
