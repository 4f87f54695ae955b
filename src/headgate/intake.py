"""Intake: what people say at the surface, turned into what the strata below want, or refused.

Limits, stores, costs and timeouts come in here; whatever is wrong with them is named at once.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from headgate.algorithms.limit import Limit
from headgate.algorithms.token_bucket import TokenBucket
from headgate.clock import microseconds
from headgate.rate import Rate
from headgate.stores.leases.store import LeasedStore
from headgate.stores.memory import MemoryStore
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.place import hidden
from headgate.stores.redis.store import RedisStore
from headgate.stores.remote.address import SCHEMES
from headgate.stores.remote.store import RemoteStore
from headgate.stores.shared.store import SharedStore
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


class Awaited(NamedTuple):
    """A store whose verbs may be awaited, because an event loop asked for it."""

    store: Any


def reach(store: Any) -> Store:
    """The store that a URL names, or the one given, in the colour of who asks."""
    awaited = isinstance(store, Awaited)
    found = store.store if isinstance(store, Awaited) else store
    if isinstance(found, str):
        found = named(found, awaited)
    if not callable(getattr(found, "open", None)):
        raise TypeError(f'a store is a URL such as "memory://" or a store, not {found!r}')
    if getattr(found, "awaited", awaited) is not awaited:
        limiter, other = ("AsyncLimiter", "Async") if awaited else ("Limiter", "")
        raise TypeError(f"{limiter} needs {other}RedisStore, not {found!r}")
    return found  # type: ignore[no-any-return]


def named(url: str, awaited: bool) -> Any:
    """The store that a URL names."""
    scheme, mark, rest = url.partition("://")
    if scheme == "memory" and not rest and mark:
        return MemoryStore()
    if scheme == "shared" and rest:
        return SharedStore(rest)
    if scheme.startswith("leased+"):
        return LeasedStore(named(url.removeprefix("leased+"), awaited))
    if mark and scheme.startswith(("redis", "valkey", "unix")):
        return AsyncRedisStore(url) if awaited else RedisStore(url)
    if mark and scheme in SCHEMES:
        return RemoteStore(url, awaited)
    raise ValueError(
        f"store {hidden(url)!r}: unknown; try memory://, shared://name, redis://host, "
        "redis+cluster://host, redis+sentinel://host/name, headgate://host, or leased+ before one "
        "of these"
    )


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
