"""Callers: who may ask a service. Each shows a token, and has a limit of its own at each worker.

Of a token only its digest is kept, and it is looked for by that: how long it takes says nothing
about how much of a guess was right.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from math import inf
from typing import Any

from headgate.clock import Clock
from headgate.decision import Decision
from headgate.limiter import Limiter
from headgate.stores.memory import MemoryStore


class Caller:
    """One who may ask. Who is no caller any more may ask nothing."""

    __slots__ = ("_clock", "_limiter", "_rate", "_rules", "name")

    def __init__(self, name: str, clock: Clock | None = None) -> None:
        self.name = name
        self._clock = clock
        self._limiter: Limiter | None = None
        self._rate: Any = None
        # By which rules; None for all.
        self._rules: frozenset[str] | None = frozenset()

    def may(self, rule: str) -> bool:
        """Whether it may ask by that rule."""
        return self._rules is None or rule in self._rules

    def take(self, cost: int = 1) -> Decision:
        """Whether it may ask so much now."""
        if self._limiter is None:
            known = self._rules is None or bool(self._rules)
            return Decision(True) if known else Decision(False, 0, 0, inf, rule=self.name)
        return self._limiter.take("", cost)

    def settle(self, rules: tuple[str, ...], rate: Any) -> None:
        """Be bound by these from now on; what it has asked counts on while the rate is the same."""
        self._rules = frozenset(rules) or None
        if rate != self._rate:
            self._rate = rate
            bound = rate is not None and not rate.unlimited
            store = MemoryStore(1)
            self._limiter = Limiter(rate, store=store, clock=self._clock) if bound else None

    def expel(self) -> None:
        """Be no caller any more."""
        self._rules = frozenset()
        self._rate = self._limiter = None

    def __repr__(self) -> str:
        return f"<Caller {self.name!r}>"


class Callers:
    """All callers, by `terms` from their names to what rules say of them."""

    def __init__(self, terms: Mapping[str, Any], clock: Clock | None = None) -> None:
        self._clock = clock
        self._named: dict[str, Caller] = {}
        self._known: dict[bytes, Caller] = {}
        self.change(terms)

    @property
    def needed(self) -> bool:
        """Whether one has to be a caller in order to ask."""
        return bool(self._named)

    def known(self, token: str) -> Caller | None:
        """Whose token it is, if it is anybody's."""
        return self._known.get(digest(token))

    def named(self, name: str) -> Caller:
        """The caller of that name; one who may ask nothing, if there is none."""
        return self._named.get(name) or Caller(name)

    def change(self, terms: Mapping[str, Any]) -> None:
        """Go by other terms from now on. Those who are connected stay who they are."""
        named = {name: self._named.get(name) or Caller(name, self._clock) for name in terms}
        for name, caller in self._named.items():
            if name not in terms:
                caller.expel()
        for name, caller in named.items():
            caller.settle(terms[name].rules, terms[name].limit)
        self._known = {
            digest(token): named[name] for name, one in terms.items() for token in one.token
        }
        self._named = named

    def __repr__(self) -> str:
        return f"<Callers: {', '.join(self._named) or 'anybody'}>"


def digest(token: str) -> bytes:
    """By which a token is known."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
