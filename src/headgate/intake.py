"""Intake: what people say at the surface, turned into what the strata below want, or refused.

Limits, stores, costs and timeouts come in here; whatever is wrong with them is named at once.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from headgate.algorithms.limit import Limit
from headgate.algorithms.token_bucket import TokenBucket
from headgate.clock import microseconds
from headgate.rate import Rate
from headgate.stores.memory import MemoryStore
from headgate.stores.store import Store

# A cost above this is refused like this one: no limit holds as much.
CEILING = 1 << 50


def gather(limits: tuple[Limit | Rate | str, ...]) -> tuple[Limit, ...]:
    """The limits meant: a spelling is a token bucket, and `unlimited` is none at all."""
    found: list[Limit] = []
    for limit in limits:
        if isinstance(limit, Limit):
            found.append(limit)
            continue
        if not isinstance(limit, (str, Rate)):
            raise TypeError(f'a limit is a rate such as "100/min" or a limit object, not {limit!r}')
        rate = limit if isinstance(limit, Rate) else Rate(limit)
        if not rate.unlimited:
            found.append(TokenBucket(rate))
    return tuple(found)


def reach(store: Any) -> Store:
    """The store that a URL names, or the one given."""
    if isinstance(store, str):
        if store == "memory://":
            return MemoryStore()
        raise ValueError(f'store {store!r}: unknown; try "memory://" or a MemoryStore')
    if not callable(getattr(store, "open", None)):
        raise TypeError(f'a store is a URL such as "memory://" or a store, not {store!r}')
    return store  # type: ignore[no-any-return]


def patience(timeout: Any, deadline: Any, now: int, horizon: int) -> int:
    """How many microseconds a caller will wait, by the earlier of its two bounds."""
    if not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r}")
    if not isinstance(deadline, (int, float)):
        raise TypeError(f"deadline is a moment in seconds, not {deadline!r}")
    if not timeout >= 0.0:
        raise ValueError(f"timeout is 0 or more seconds, not {timeout!r}")
    if math.isnan(deadline):
        raise ValueError("deadline is a moment in seconds, not nan")
    within = horizon if timeout >= horizon / 1e6 else microseconds(timeout)
    if deadline >= (now + within) / 1e6:
        return within
    return max(-1, min(within, microseconds(max(deadline, -1.0)) - now))


def checked(key: Any, cost: Any) -> tuple[str, int]:
    """Key and cost as the steps want them, or an error that names what is wrong with them."""
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {key!r}")
    if isinstance(cost, bool):
        raise TypeError(f"cost is a whole number, not {cost!r}")
    try:
        units = operator.index(cost)
    except TypeError:
        raise TypeError(f"cost is a whole number, not {cost!r}") from None
    if units < 0:
        raise ValueError(f"cost is 0 or more, not {units}; use refund to give back")
    # More than any limit holds is refused like the most that would fit into the arithmetic.
    return str.__str__(key), min(units, CEILING)
