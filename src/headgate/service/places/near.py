"""Places in memory: those of one process, which end with it."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from headgate.errors import StoreUnavailable

# So many places are held at once, of whatever keys.
MOST = 100_000


class Near:
    """Who holds which places, by the time that `now` tells."""

    def __init__(self, now: Callable[[], int], most: int = MOST) -> None:
        self._now = now
        self._most = most
        self._rooms: dict[tuple[str, str], dict[str, int]] = {}
        # When each is over, the soonest first; who was renewed or has left stands here as before.
        self._ends: list[tuple[int, tuple[str, str], str]] = []
        self._count = 0

    def enter(self, title: str, key: str, name: str, limit: int, ttl: int) -> int:
        """How many hold a place then, or 0."""
        now = self._now()
        self.sweep(now)
        room = self._rooms.get((title, key), {})
        if name not in room:
            if len(room) >= limit:
                return 0
            if self._count >= self._most:
                said = f"{self._most:,} places are held already, as many as one process keeps"
                raise StoreUnavailable(said, "crowded", unknown=False)
            self._count += 1
        self._keep((title, key), room, name, now + ttl)
        return len(room)

    def renew(self, title: str, key: str, name: str, ttl: int) -> bool:
        """Hold it from now on; whether it was held."""
        now = self._now()
        self.sweep(now)
        room = self._rooms.get((title, key), {})
        if name not in room:
            return False
        self._keep((title, key), room, name, now + ttl)
        return True

    def leave(self, title: str, key: str, name: str) -> bool:
        """Give it back; whether it was held."""
        self.sweep(self._now())
        return self._strike((title, key), name)

    def inside(self, title: str, key: str) -> int:
        """How many hold a place."""
        self.sweep(self._now())
        return len(self._rooms.get((title, key), ()))

    def sweep(self, now: int) -> None:
        """Give back those whose time is over."""
        ends = self._ends
        while ends and ends[0][0] <= now:
            end, place, name = heappop(ends)
            if self._rooms.get(place, {}).get(name) == end:
                self._strike(place, name)

    def close(self) -> None:
        """Nothing was opened."""

    def _keep(self, place: tuple[str, str], room: dict[str, int], name: str, end: int) -> None:
        self._rooms[place] = room
        room[name] = end
        heappush(self._ends, (end, place, name))
        if len(self._ends) > 2 * self._count + 64:
            self._ends = [
                (until, where, who)
                for where, held in self._rooms.items()
                for who, until in held.items()
            ]
            heapify(self._ends)

    def _strike(self, place: tuple[str, str], name: str) -> bool:
        room = self._rooms.get(place, {})
        if room.pop(name, None) is None:
            return False
        self._count -= 1
        if not room:
            del self._rooms[place]
        return True
