"""Stage: limiters on a store that are used for measuring, and leave nothing behind."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from headgate.cli.bench.subjects import Plan
from headgate.intake import named
from headgate.rate import Rate
from headgate.rules.model.allowance import ALGORITHMS
from headgate.stores.memory import MemoryStore
from headgate.stores.shared.store import SharedStore

LEAST = 100_000
PATIENCE = 5


def stage(
    store: str, limits: tuple[str, ...], by: str, keys: int, threads: int
) -> AbstractContextManager[Plan]:
    """What is measured on a store of that URL; raises ValueError if a limit is none."""
    found = tuple(ALGORITHMS[by](rate) for rate in map(Rate, limits) if not rate.unlimited)
    name = f"bench-{secrets.token_hex(4)}"
    return opened(store, Plan(store, store, name, found, keys, threads))


@contextmanager
def opened(url: str, plan: Plan) -> Iterator[Plan]:
    """The plan, on a store of its own where the URL is one of this machine."""
    room = max(LEAST, 2 * plan.keys)
    if url.startswith("memory:"):
        memory = MemoryStore(room)
        yield plan._replace(store=memory, awaited=memory)
    elif url.startswith("shared:"):
        # Beside what is counted there, and as fast.
        shared = SharedStore(plan.name, room)
        try:
            yield plan._replace(store=shared, awaited=shared)
        finally:
            shared.remove()
    else:
        url = patient(url)
        with closing(named(url, False)) as store:
            yield plan._replace(store=store, awaited=url)


def patient(url: str) -> str:
    """The URL with time enough for a server to answer: one slow answer is a number, no failure."""
    if "budget=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}budget={PATIENCE}"


def spelled(plan: Plan) -> list[Any]:
    """The limits as one would write them."""
    return [repr(limit) for limit in plan.limits]
