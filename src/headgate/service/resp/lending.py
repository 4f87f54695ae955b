"""Lending: units of limits that are kept here, for whoever spends them elsewhere."""

from __future__ import annotations

from typing import Any

from headgate.stores.leases.lease import Lease


def lend(ledger: Any, key: str, now: int, need: int, want: int, least: int) -> Lease:
    """Up to `want` units, `need` and `least` at least: no more than half of what is left.

    What scripts do on a server, see `stores/redis/verbs.lua`, with a ledger that is asked at once.
    Where another process is quicker in between, what is left is looked at anew.
    """
    while True:
        for limit in ledger.limits:
            if need > limit.most:
                return Lease(0, ledger.peek(key, need, now), now)
        fair = max(need, min(least, *(limit.most for limit in ledger.limits)))
        left = ledger.peek(key, 0, now).remaining
        if left < fair:
            return Lease(0, ledger.peek(key, fair, now), now)
        units = max(fair, min(want, (left + 1) // 2))
        decision = ledger.take(key, units, now, 0)
        if decision:
            return Lease(units, decision, now)
        if ledger.peek(key, 0, now).remaining >= left:
            # Nobody was quicker: these limits say no for another reason.
            return Lease(0, decision, now)
