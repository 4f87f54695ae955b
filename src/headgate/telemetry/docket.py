"""Docket: the latest requests that were refused, or would have been, as a reading tells of them.

Only so many are kept, and so many looked at in a tenth of a second: whoever floods a service shall
not have it write instead of work. What is cut of paths and hosts is of no use to anybody.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from math import inf
from typing import Any

from headgate.clock import Clock
from headgate.decision import Decision
from headgate.rules.live.entry import Entry
from headgate.rules.live.trial import NAME
from headgate.telemetry.reading import RefusalReading

MOST = 50
LONGEST = 200
# What is answered where a rule does not say.
STATUSES = {"limit": 429, "capacity": 503, "denied": 403, "key": 403, "unavailable": 503}
# No more of them are looked at in so many microseconds.
SPAN = 100_000


class Docket:
    """What is known of refused requests; `seen` is how many were entered."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock = clock
        self._kept: deque[tuple[int, RefusalReading]] = deque(maxlen=most)
        self._until = self._left = self.seen = 0

    def enter(self, request: Any, entry: Entry, decision: str = "", status: int = 0) -> None:
        """A request was refused, or would have been by a rule that is tried out."""
        now = self._clock.now()
        if entry.refusal is None and entry.shadowed[0].name == NAME:
            # It may be about everybody, and tells by itself whom it would have cut.
            return
        if not self._room(now):
            return
        found = self._told(entry)
        found["decision"] = decision
        found["status"] = status or found["status"]
        found["client"] = str(request.address)
        found["method"] = str(request.method)
        found["host"] = request.host[:LONGEST]
        found["path"] = request.path[:LONGEST]
        self._keep(now, found)

    def note(self, rule: str, key: str, decision: Decision, shadow: bool) -> None:
        """Somebody who asked for a rule by its name was told no."""
        now = self._clock.now()
        if not self._room(now):
            return
        found = blank(rule)
        kinds = {"unavailable": "unavailable"}
        found["kind"] = kinds.get(decision.reason, "limit" if decision.limit else "denied")
        found["key"], found["shadow"] = key, shadow
        tell(found, decision)
        self._keep(now, found)

    def latest(self) -> list[RefusalReading]:
        """They, the newest first."""
        return [one for _, one in reversed([*self._kept])]

    def since(self, seen: int) -> list[RefusalReading]:
        """Those that were entered after so many, the oldest first, as far as they are kept."""
        kept = [*self._kept]
        return [one for number, one in kept if number > seen]

    def _room(self, now: int) -> bool:
        # Whether there is time for one more.
        if not self._until - SPAN <= now < self._until:
            self._until, self._left = now + SPAN, MOST
        self._left -= 1
        return self._left >= 0

    def _told(self, entry: Entry) -> RefusalReading:
        # What an entry says of it.
        refusal = entry.refusal
        rule = entry.shadowed[0] if refusal is None else refusal.rule
        found = blank(str(rule.name))
        if refusal is not None:
            found["kind"] = refusal.kind
            found["status"] = refusal.status or STATUSES.get(refusal.kind, 0)
            found["retry_after"] = finite(refusal.retry_after)
        found["shadow"] = refusal is None
        for one in entry.passes:
            if one.ruling.rule is rule:
                found["key"] = one.key
                tell(found, one.decision)
        return found

    def _keep(self, now: int, found: RefusalReading) -> None:
        self.seen += 1
        found["time"] = datetime.fromtimestamp(now / 1e6, UTC).isoformat()
        self._kept.append((self.seen, found))


def blank(rule: str) -> RefusalReading:
    """A refusal of which no more is known than the rule."""
    return {
        "time": "",
        "decision": "",
        "rule": rule,
        "kind": "limit",
        "status": 0,
        "client": "",
        "method": "",
        "host": "",
        "path": "",
        "key": "",
        "reason": "",
        "remaining": 0,
        "retry_after": 0.0,
        "shadow": False,
    }


def tell(found: RefusalReading, decision: Decision) -> None:
    """Say what a limit said."""
    found["reason"] = decision.reason
    found["remaining"] = decision.remaining
    found["retry_after"] = finite(decision.retry_after)


def finite(wait: float) -> float:
    """A wait as JSON can tell it; where none would help, 0."""
    return round(wait, 3) if wait < inf else 0.0
