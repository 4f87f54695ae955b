"""Leaf: what a file says of one descriptor, made ready to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.algorithms.calendar import frame
from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.limit import Limit
from headgate.decision import Decision
from headgate.rules.live.tally import Tally
from headgate.service.rls.domains import DAY, Descriptor
from headgate.service.rls.messages import UNITS
from headgate.service.rls.scribe import MILLION, limited

# Which unit a period is, in seconds; others have none.
PERIODS = {1: 1, 60: 2, 3600: 3, DAY: 4, 30 * DAY: 5, 365 * DAY: 6, 7 * DAY: 7}


class Leaf:
    """Where the entries of a descriptor end, and what they may.

    `limits` are none where it is `free`, and none where it is `banned`. `later` says that it was
    asked what is left: what is spent then is told afterwards.
    """

    __slots__ = (
        "banned", "free", "later", "limits", "metadata", "name", "policy", "quota", "replaces",
        "sayings", "shadow", "tally", "title",
    )  # fmt: skip

    def __init__(self, title: str, told: Descriptor) -> None:
        policy = told.rate_limit
        self.title = title
        self.policy = policy
        self.free: bool = policy.free
        self.limits: tuple[Limit, ...] = policy.limits
        self.banned = any(limit.most < 0 for limit in self.limits)
        self.name: str = policy.name
        self.replaces = frozenset(one.name for one in policy.replaces)
        self.shadow: bool = told.shadow_mode
        self.quota: bool = told.quota_mode
        self.metadata: Mapping[str, Any] | None = told.metadata
        self.later = False
        self.sayings = sayings(self.limits, policy.name)
        self.tally = Tally()

    def follow(self, other: Leaf) -> None:
        """Go on where another one ends, which a file said before."""
        self.tally = other.tally
        self.later = other.later

    def __str__(self) -> str:
        """As the reference tells of it at `/rlconfig`."""
        policy = self.policy
        unit = policy.unit.upper() or UNITS[0]
        limit = f"unit={unit} requests_per_unit={policy.requests_per_unit or 0}"
        if policy.limit:
            limit = f"limit={', '.join(repr(one) for one in self.limits) or 'unlimited'}"
        shadow, quota = str(self.shadow).lower(), str(self.quota).lower()
        return f"{self.title}: {limit}, shadow_mode: {shadow}, quota_mode: {quota}"


def sayings(limits: tuple[Limit, ...], name: str) -> dict[str, bytes]:
    """What a status says of each limit, by the name under which decisions know it."""
    return {limit.name: saying(limit, name or limit.options.get("name", "")) for limit in limits}


def saying(limit: Limit, name: str) -> bytes:
    """What a status says of a limit. A period that is no unit is left out: any other is wrong."""
    seconds, rest = divmod(limit.rate.period, MILLION)
    unit = 0 if rest else PERIODS.get(seconds, 0)
    return limited(limit.rate.count, unit, name)


def said(sayings: dict[str, bytes], decision: Decision) -> bytes:
    """What is said of the limit that a decision is about."""
    if len(sayings) > 1 and decision.rule in sayings:
        return sayings[decision.rule]
    return next(iter(sayings.values()), b"")


def rest(limits: tuple[Limit, ...], now: int) -> int:
    """Microseconds until the windows of the clock end, where nothing else says when."""
    spans = [
        ending(limit, now)
        for limit in limits
        if isinstance(limit, FixedWindow) and limit.anchor == "clock"
    ]
    return max(spans, default=0)


def ending(limit: FixedWindow, now: int) -> int:
    """Microseconds until the window ends that it is now; a calendar has its own."""
    if limit.calendar:
        return frame(now, limit.calendar, limit.zone)[2] - now
    return limit.rate.period - now % limit.rate.period
