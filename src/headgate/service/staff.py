"""Staff: what stands behind the ports of a service, whatever is spoken there.

Callers, methods, files of limits and the rest are made ready for the rules in force, and those are
asked first whether all of that can be done.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from headgate.clock import Clock
from headgate.rules.model.service import RateLimit as RateTerms
from headgate.rules.model.service import Service as Terms
from headgate.service.grpc import health
from headgate.service.grpc.methods import Methods
from headgate.service.grpc.status import Status
from headgate.service.hall import Hall
from headgate.service.readiness import Readiness
from headgate.service.rls.case import Terms as Manners
from headgate.service.rls.domains import load
from headgate.service.rls.fault import Fault
from headgate.service.rls.quotas import Quotas
from headgate.service.rls.ratelimit import RateLimit

RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
QUOTA = "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas"


class Staff:
    """Prepares a hall for its guests, and goes on by other rules when they come."""

    def __init__(self, hall: Hall, clock: Clock | None) -> None:
        self._hall = hall
        lodge = hall.keeper.lodge
        self._ratelimit = RateLimit(hall.keeper, hall.teller.sets, lodge.url, clock)
        self._methods = Methods()
        self._methods.unary(RATE_LIMIT, self._answer)
        self._quotas = Quotas(self._ratelimit, hall)
        self._methods.stream(QUOTA, self._quotas.open)
        self._ready = Readiness(hall)
        health.serve(self._methods, self._ready)
        hall.things |= {"grpc": self._methods, "ratelimit": self._ratelimit, "ready": self._ready}

    def check(self, terms: Terms) -> None:
        """Whether all can be made ready for these terms; raises if not."""
        load(terms.ratelimit.files)

    def settle(self, terms: Terms, secret: str) -> None:
        """Make all ready for these terms."""
        hall = self._hall
        hall.callers.change(terms.callers)
        hall.teller.change(secret, terms.limits.sets)
        self._methods.most = terms.limits.body
        told = manners(terms.ratelimit)
        self._ratelimit.reload(terms.ratelimit.files, told, hall.keeper.lodge.url)

    def sweep(self, now: int) -> None:
        """See what the time has brought."""
        self._hall.teller.sweep(now)
        self._quotas.sweep(now)

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        return {"quotas": self._quotas.status()}

    async def close(self) -> None:
        """Let go of what is held open."""
        self._ready.close()
        self._quotas.close()
        await self._hall.teller.close()

    def _answer(self, message: bytes, call: Any) -> bytes | Awaitable[bytes]:
        try:
            return self._ratelimit.answer(message, call)
        except Fault as fault:
            raise Status(fault.code, fault.message) from None


def manners(terms: RateTerms) -> Manners:
    """How calls are answered."""
    return Manners(terms.headers, terms.metadata, terms.shadow)
