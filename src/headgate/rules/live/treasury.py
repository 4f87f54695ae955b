"""Treasury: the budget that rules speak of, made ready; in gateways, and in services behind them.

budget = opened(Rules.load("rules.yaml"))
app = BudgetMiddleware(app, budget, price=5)
"""

from __future__ import annotations

from typing import Any

from headgate.async_limiter import AsyncLimiter
from headgate.budgets.budget import Budget
from headgate.clock import Clock
from headgate.limiter import Limiter
from headgate.rules.model.budget import Budget as Terms
from headgate.rules.model.rules import Rules

# What the limiter of a budget is called, before the budget's own name: rules have limiters, too.
REALM = "budget:"
# As a limiter has it that lets everything in.
UNLIMITED = "unlimited"


def opened(
    rules: Rules,
    store: str = "",
    kind: type[Limiter] | type[AsyncLimiter] = AsyncLimiter,
    clock: Clock | None = None,
) -> Budget:
    """The budget of these rules, for a service that spends of it; `kind` is how it asks for more.

    It counts where a gateway with the same rules does: at their store, or the one that is given.
    """
    terms: Terms | None = rules.budget
    if terms is None:
        raise ValueError(
            "the rules say nothing of a budget; add a section such as "
            "budget: {limit: 1000/min, grant: 20, keys: ...}"
        )
    limiter = kind(
        *(terms.limits() or (UNLIMITED,)),
        store=store or rules.store,
        name=REALM + terms.name,
        clock=clock,
        when_unavailable=terms.when_unavailable,
    )
    return joined(terms, limiter, clock)


def joined(terms: Terms, limiter: Any, clock: Clock | None) -> Budget:
    """A budget on these terms, out of this limiter."""
    return Budget(
        limiter,
        keys=terms.keys,
        name=terms.name,
        clock=clock,
        grant=terms.grant,
        plans=terms.plans,
        most=terms.most,
        ttl=terms.ttl,
        skew=terms.skew,
        header=terms.header,
    )
