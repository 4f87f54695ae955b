"""What tests of budgets lean on: keys, and budgets on a clock that is moved by hand."""

from __future__ import annotations

from typing import Any

from headgate import Budget, Limiter, ManualClock, MemoryStore

KEY, OTHER = "the-first-of-two-keys-for-all-tests", "the-second-of-two-keys-for-all-tests"


def made(
    clock: ManualClock, rate: str = "100/min", kind: Any = Limiter, store: Any = None, **terms: Any
) -> Budget:
    """A budget of 20 for everybody, of 5 for the free, and as they like for the important."""
    limiter = kind(rate, clock=clock, store=store or MemoryStore(100))
    plans = {"vip": "unlimited", "free": 5}
    settings: dict[str, Any] = {"keys": KEY, "grant": 20, "plans": plans, "clock": clock}
    return Budget(limiter, **(settings | terms))


def chain(clock: ManualClock, number: int, rate: str = "100/min", **terms: Any) -> list[Budget]:
    """The budgets of so many services, which ask one limit."""
    store = MemoryStore(100)
    limiter = Limiter(rate, clock=clock, store=store)
    settings: dict[str, Any] = {"keys": KEY, "grant": 20, "clock": clock}
    return [Budget(limiter, **(settings | terms)) for _ in range(number)]


def left(budget: Budget, account: str = "") -> int:
    """What the limit still has."""
    remaining: int = budget.peek(account).remaining
    return remaining
