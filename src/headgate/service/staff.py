"""Staff: what stands behind the ports of a service, whatever is spoken there.

Callers, methods, files of limits and the rest are made ready for the rules in force, and it is seen
beforehand whether all of that can be done.
"""

from __future__ import annotations

from typing import Any

from headgate.clock import Clock
from headgate.rules.model.service import Service as Terms
from headgate.service.grpc.health import Health
from headgate.service.grpc.methods import Methods
from headgate.service.hall import Hall
from headgate.service.readiness import Readiness
from headgate.service.rls import quotas
from headgate.service.rls.case import Terms as Manners
from headgate.service.rls.domains import load
from headgate.service.rls.quotas import Quotas
from headgate.service.rls.ratelimit import RateLimit

RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


class Staff:
    """Prepares a hall for its guests, and goes on by other rules when they come."""

    def __init__(self, hall: Hall, clock: Clock | None) -> None:
        self._hall = hall
        self._methods = Methods()
        self._ready = Readiness(hall)
        self._health = Health(hall)
        self._health.serve(self._methods)
        url = hall.keeper.lodge.url
        self._ratelimit = RateLimit(hall.keeper, hall.teller, url, clock)
        self._methods.unary(RATE_LIMIT, self._ratelimit.answer)
        self._quotas = Quotas(self._ratelimit, hall)
        self._methods.stream(quotas.METHOD, self._quotas.open)
        hall.things |= {"grpc": self._methods, "ratelimit": self._ratelimit, "ready": self._ready}

    def check(self, terms: Terms) -> None:
        """See whether all can be made ready for these terms; raises if not."""
        load(terms.ratelimit.files)

    def settle(self, terms: Terms, secret: str) -> None:
        """Make all ready for these terms."""
        hall = self._hall
        hall.callers.change(terms.callers)
        hall.teller.change(secret, terms.limits.sets)
        self._methods.most = terms.limits.body
        self.renew(terms)

    def renew(self, terms: Terms) -> None:
        """Read the files that these terms name; raises, and changes nothing, if one is bad."""
        said = terms.ratelimit
        manners = Manners(said.headers, said.metadata, said.shadow)
        self._ratelimit.reload(said.files, manners, self._hall.keeper.lodge.url)
        self._quotas.settle()

    def sweep(self, now: int) -> None:
        """See what the time has brought."""
        self._hall.teller.sweep(now)
        self._quotas.sweep(now)
        self._health.look()

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        return {"ratelimit": self._ratelimit.status(), "quotas": self._quotas.status()}

    async def close(self) -> None:
        """Let go of what is held open."""
        self._ready.close()
        self._quotas.close()
        await self._ratelimit.close()
        await self._hall.teller.close()
