"""Terms: what requests are granted, for how long it counts, and what becomes of those without."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headgate.budgets.note import LONGEST_LIFE
from headgate.measures import MILLION, seconds, whole

UNLIMITED = "unlimited"
HEADER = "x-headgate-budget"
# What already says something else of a message: a gateway leaves it to the client, or reads it.
TAKEN = (
    "authorization|cache-control|connection|content-[a-z]+|cookie|date|expect|forwarded|host|"
    "http2-settings|keep-alive|proxy-[a-z]+|set-cookie|te|trailer|transfer-encoding|upgrade|"
    "www-authenticate|x-forwarded-[a-z]+|x-real-ip"
)
# What a header is called, in lower case as everywhere here.
NAME = re.compile(rf"(?!(?:{TAKEN})$)[a-z0-9][a-z0-9-]{{0,63}}")
# Nobody is granted more at once: what a limit counts with stays exact below.
MOST = 1 << 50


class Visit(NamedTuple):
    """Who comes in: their account and plan, what is reserved for them at least, and their route."""

    account: str = ""
    plan: str = ""
    reserve: int = 0
    route: str = ""


class Sum(NamedTuple):
    """What somebody is granted on coming in, and what a grant of theirs is from then on."""

    amount: int
    grant: int
    uncounted: bool


@dataclass(frozen=True)
class Terms:
    """The terms of a budget, checked when they are made; times are microseconds from then on."""

    grant: int
    plans: Mapping[str, int | str] = field(default_factory=dict)
    most: int = 0
    ttl: Any = 30.0
    skew: Any = 1.0
    missing: str = "grant"
    stranger: str = "refuse"
    header: str = HEADER
    memory: int = 100_000

    def __post_init__(self) -> None:
        whole("Budget", "grant", self.grant, 1, MOST)
        whole("Budget", "most", self.most, 0, MOST)
        whole("Budget", "memory", self.memory, 1)
        for plan, amount in self.plans.items():
            if amount != UNLIMITED:
                whole("Budget", f"plans[{plan!r}]", amount, 1, MOST)
        for word in ("missing", "stranger"):
            given = getattr(self, word)
            if given not in ("grant", "refuse"):
                raise ValueError(f'Budget: {word} is "grant" or "refuse", not {given!r}')
        if not isinstance(self.header, str) or NAME.fullmatch(self.header) is None:
            raise ValueError(
                f"Budget: header is a name in lower case such as {HEADER}, not {self.header!r}"
            )
        ttl = seconds("Budget", "ttl", self.ttl, 0.001)
        if ttl > LONGEST_LIFE:
            longest = LONGEST_LIFE // MILLION
            raise ValueError(f"Budget: ttl is at most {longest:,} seconds, not {self.ttl!r}")
        skew = seconds("Budget", "skew", self.skew)
        if skew > LONGEST_LIFE:
            raise ValueError(f"Budget: skew is some seconds, not {self.skew!r}")
        object.__setattr__(self, "ttl", ttl)
        object.__setattr__(self, "skew", skew)
        object.__setattr__(self, "plans", dict(self.plans))

    @property
    def life(self) -> int:
        """For how long after it was issued a note may count anywhere, by any of our clocks."""
        return int(self.ttl + 2 * self.skew)

    def fit(self, capacity: int) -> None:
        """Raise if a limit that holds `capacity` could never grant as much."""
        amounts = {"grant": self.grant, "most": self.most}
        amounts |= {f"plans[{plan!r}]": one for plan, one in self.plans.items() if one != UNLIMITED}  # type: ignore[misc]
        for word, amount in amounts.items():
            if amount > capacity:
                said = f"is at most {capacity:,}, as much as the limit holds, not {amount:,}"
                raise ValueError(f"Budget: {word} {said}")

    def sum(self, visit: Visit, guess: int) -> Sum:
        """What somebody is granted, whose route has cost `guess` of late."""
        usual = self.plans.get(visit.plan, self.grant)
        if isinstance(usual, str):
            return Sum(0, self.grant, True)
        return Sum(max(usual, visit.reserve, min(guess, self.most)), usual, False)
