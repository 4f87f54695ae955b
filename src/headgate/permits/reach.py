"""Reach: the permits that a URL names, in the colour of who asks."""

from __future__ import annotations

from typing import Any

from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.redis.permits import RedisPermits
from headgate.permits.shared.permits import SharedPermits
from headgate.stores.redis.place import hidden
from headgate.stores.remote.address import SCHEMES, way


def reach(store: Any, limit: int, name: str, method: str, ttl: float, awaited: bool) -> Any:
    """Who keeps the places of a bulkhead: None if they are this process's own."""
    if callable(getattr(store, "enter", None)):
        return store
    scheme, mark, rest = store.partition("://") if isinstance(store, str) else ("redis", "", "")
    if scheme == "memory" and mark and not rest:
        return None
    if scheme == "shared" and rest:
        # Those without a name are told apart by their limit, as they are on a server.
        return SharedPermits(rest, limit, bulkhead=name or f"limit {limit}")
    if not isinstance(store, str) or (mark and scheme.startswith(("redis", "valkey", "unix"))):
        kind = AsyncRedisPermits if awaited else RedisPermits
        return kind(store, limit, method=method, ttl=ttl, name=name)
    if mark and scheme in SCHEMES:
        kind = AsyncRedisPermits if awaited else RedisPermits
        return kind(way(store), limit, method=method, ttl=ttl, name=name)
    raise ValueError(
        f"store {hidden(store)!r}: unknown; try memory://, shared://name, redis://host, "
        "redis+cluster://host, redis+sentinel://host/name or headgate://host"
    )
