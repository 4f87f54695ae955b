"""Callers: both colours of the store on a service, spoken to in one way."""

from __future__ import annotations

from headgate.stores.remote.address import way
from headgate.stores.remote.store import RemoteStore
from tests.stores.redis.callers import BUDGET, Caller


class Remote(Caller):
    """A store on the service at `url`, whose verbs are run to their end where they are called."""

    def __init__(self, url: str, colour: str = "sync", budget: float = BUDGET) -> None:
        super().__init__(way(url), colour, budget=budget)
        self.store = RemoteStore(url, colour == "async", budget)
