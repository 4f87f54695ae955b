"""Shares: what is decided without the store. A part of each limit, or everything, or nothing."""

from __future__ import annotations

import contextlib

from headgate.algorithms.limit import Limit
from headgate.decision import Decision
from headgate.errors import LimitError, RateError
from headgate.rate import Rate
from headgate.stores.watch import PAUSE


def marked(decision: Decision) -> Decision:
    """The same decision, said to be made without the store."""
    return Decision(
        decision.allowed,
        decision.limit,
        decision.remaining,
        decision.retry_after,
        decision.reset_after,
        decision.rule,
        degraded=True,
    )


def verdict(allowed: bool, limit: Limit) -> Decision:
    """Everything or nothing goes in, until the store is back."""
    if allowed:
        return Decision(True, limit.limit, limit.limit, rule=limit.name, degraded=True)
    wait = PAUSE / 1e6
    return Decision(False, limit.limit, 0, wait, wait, limit.name, True, "unavailable")


def share(limit: Limit, parts: int) -> Limit:
    """One of so many equal parts of a limit, at least one unit."""
    if parts <= 1 or limit.most < 0:
        return limit
    rate, options = limit.rate, {**limit.options, "name": limit.name}
    options.pop("burst", None)
    size = max(1, limit.limit // parts)
    if "initial" in options:
        options["initial"] //= parts
    if "penalty" in options:
        options["penalty"] = min(options["penalty"], size)
    part = max(1, rate.count // parts)
    if not hasattr(limit, "burst"):
        return type(limit)(Rate.of(part, rate.period), **options)
    if options.get("refill") != "interval":
        with contextlib.suppress(RateError, LimitError):
            return type(limit)(Rate.of(rate.count, rate.period * parts, size), **options)
    # It comes in one go, or more rarely than can be counted: a part of it as often.
    return type(limit)(Rate.of(part, rate.period, size), **options)
