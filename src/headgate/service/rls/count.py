"""Count: a descriptor with a limit of its own, from a file or brought along."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headgate.decision import Decision
from headgate.drive import Flow
from headgate.rules.live.tally import LET_IN, TRIED, TURNED
from headgate.service.grpc.status import UNAVAILABLE, Status
from headgate.service.rls.finding import Back, Finding
from headgate.service.rls.leaf import Leaf, rest, said
from headgate.service.rls.query import Ask

DOWN = "the store that the limits are kept in cannot be asked"


class Plain:
    """A descriptor that nothing is counted of; `remaining` is what is told of it."""

    def __init__(self, remaining: int = 0) -> None:
        self._remaining = remaining

    def weigh(self, alone: bool, now: int) -> Flow[Finding]:
        """It may go in."""
        return Finding(b"", self._remaining)
        yield


class Ban:
    """A descriptor of which nothing may go in; the store need not be asked."""

    def __init__(self, leaf: Leaf, hits: int) -> None:
        self._leaf = leaf
        self._hits = hits

    def weigh(self, alone: bool, now: int) -> Flow[Finding]:
        """Nothing is left, and who does not only look is refused."""
        leaf = self._leaf
        shut = next(limit for limit in leaf.limits if limit.most < 0)
        finding = Finding(leaf.sayings[shut.name])
        finding.wait = rest(leaf.limits, now)
        settle(finding, leaf, self._hits <= 0)
        tell(leaf, finding, "", self._hits, None, now)
        return finding
        yield


class Count:
    """A descriptor that is counted under `key`, by the limiter that `find` answers.

    `peeked` is called when a limit is first asked what is left of it: what is spent then is told
    afterwards, and has to be counted although it may be too much.
    """

    def __init__(
        self, leaf: Leaf, find: Callable[[], Any], key: str, ask: Ask, peeked: Callable[[], Any]
    ) -> None:
        self.leaf = leaf
        self.find = find
        self.key = key
        self.ask = ask
        self._peeked = peeked

    def weigh(self, alone: bool, now: int) -> Flow[Finding]:
        """Take the hits, for the time being unless they are `alone`."""
        leaf, key, hits, limiter = self.leaf, self.key, self.ask.hits, self.find()
        finding = Finding()
        if hits <= 0:
            decision = yield partial(limiter.peek, key, 0)
            if hits < 0:
                refund = partial(limiter.refund, key, min(-hits, heaviest(leaf)))
                finding.back = (Back(refund, leaf.sayings, leaf.limits),)
            elif not leaf.later:
                leaf.later = True
                self._peeked()
        elif leaf.later and self.ask.priced:
            decision = yield partial(limiter.debit, key, min(hits, heaviest(leaf)))
        elif alone:
            decision = yield partial(limiter.take, key, hits)
        else:
            booking = yield partial(limiter.reserve, key, hits, 0.0)
            decision = booking.decision
            finding.bookings, finding.hits = (booking,) if decision else (), hits
        if decision.reason == "unavailable":
            raise Status(UNAVAILABLE, DOWN)
        finding.limit = said(leaf.sayings, decision)
        finding.take(decision, rest(leaf.limits, now))
        settle(finding, leaf, decision.allowed or hits < 0)
        tell(leaf, finding, key, hits, decision, now)
        return finding


def settle(finding: Finding, leaf: Leaf, allowed: bool) -> None:
    """What it means for the call."""
    finding.quota = leaf.quota
    finding.metadata = leaf.metadata
    finding.shadowed = not allowed and leaf.shadow
    finding.over = not allowed and not leaf.shadow


def tell(
    leaf: Leaf, finding: Finding, key: str, hits: int, decision: Decision | None, now: int
) -> None:
    """Count it for those who look at how many were refused."""
    verdict = TURNED if finding.over else TRIED if finding.shadowed else LET_IN
    leaf.tally.count(verdict, key, max(0, hits), decision, 0, now)


def heaviest(leaf: Leaf) -> int:
    """The most that can be given back, or owed, at once."""
    return min(limit.heaviest for limit in leaf.limits)
