"""Step functions with nothing in between, and endless random traces to try them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headgate.stores.store import FAR
from tests.conformance.engines import (
    ANSWERED,
    FOREVER,
    LUA,
    Functions,
    attributes,
    dated,
    opening,
    owing,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Generator

    from headgate import Limit

SECOND = 1_000_000
YEAR = 365 * 86_400 * SECOND
# In the autumn of 2027, and no later than law 1 goes: a number of Lua holds all moments until then.
BEGIN, END = 1_822_222_222_222_222, 1 << 52


class Act(NamedTuple):
    """What is done to the key; `extra` is patience or due."""

    do: str
    now: int
    cost: int
    extra: int


class Bare:
    """The step functions of one limit over the cells of one key, with nothing in between."""

    def __init__(
        self,
        limit: Limit,
        functions: Functions,
        lua: bool = False,
        number: Callable[[int], int] = int,
    ) -> None:
        self.limit = limit
        self.number = number
        self.step, self.write_charge, self.settle, self.names = functions
        self.ring = self.settle is not None
        self.lua = lua
        self.cells: Any = None
        self.moving = bool(getattr(limit, "calendar", ""))
        self.follow(BEGIN)

    def follow(self, now: int) -> None:
        """Look up the limit's own numbers, which a calendar moves."""
        told = {"now": now, "enter": 0, "cost": 0, "patience": 0, "due": 0, **ANSWERED}
        self.numbers = {
            word: tuple(
                map(self.number, attributes(self.limit, self.own(names, told), told).values())
            )
            for word, names in self.names.items()
        }

    def own(self, names: list[str], told: dict[str, int]) -> list[str]:
        cells = 2 if self.ring else self.limit.width
        return [name for name in names[:-cells] if name not in told]

    def open(self, now: int) -> None:
        self.write([self.number(cell) for cell in opening(self.limit, now)])

    def read(self) -> list[int]:
        if self.cells is None:
            return []
        if self.lua and self.ring:
            return [int(number) for number in self.cells.values()]
        return [int(number) for number in self.cells]

    def write(self, cells: list[int]) -> None:
        self.cells = LUA.table_from(cells) if self.lua and self.ring else cells

    def look(self, now: int, cost: int, patience: int) -> Any:
        if self.ring:
            return self.step(now, now, cost, patience, *self.numbers["step"], self.cells, 0)
        answer = self.step(now, now, cost, patience, *self.numbers["step"], *self.cells)
        return dated(self.limit, now, patience, answer) if self.moving else answer

    def keep(self, now: int, cost: int, answer: Any) -> None:
        if not self.ring:
            self.cells = answer[3:]
            return
        told = [answer[ANSWERED[name]] for name in self.names["settle"] if name in ANSWERED]
        self.settle(now, cost, *self.numbers["settle"], *told, self.cells, 0)

    def charge(self, now: int, cost: int, due: int) -> None:
        if self.ring:
            self.write_charge(now, cost, due, *self.numbers["charge"], self.cells, 0)
        else:
            self.cells = self.write_charge(now, cost, due, *self.numbers["charge"], *self.cells)

    def rebase(self, now: int) -> None:
        self.keep(now, 0, self.look(now, 0, FOREVER))

    def perform(self, act: Act) -> tuple[bool, int, int, int]:
        """Do it; answers as `perform` does for the table."""
        if self.number is not int:
            act = Act(act.do, *map(self.number, act[1:]))
        if self.moving:
            self.follow(act.now)
        if act.do == "forget":
            self.cells = None
            return (True, 0, 0, 0)
        if self.cells is None:
            self.open(act.now)
        if act.do == "take":
            return self.take(act.now, act.cost, act.extra)
        if act.do == "peek":
            return self.peek(act.now, act.cost)
        self.charge(act.now, act.cost, act.extra)
        return self.peek(act.now, 0)

    def take(self, now: int, cost: int, patience: int) -> tuple[bool, int, int, int]:
        if cost > self.limit.most:
            return self.never(now)
        answer = self.look(now, cost, patience)
        if answer[0] <= patience and cost > 0:
            self.keep(now, cost, answer)
        elif cost > 0 and self.limit.penalty:
            if answer[1] > -owing(self.limit):
                self.charge(now, self.limit.penalty, now)
            answer = self.look(now, cost, patience)
        wait, remaining, reset, *_ = answer
        return wait <= patience, int(wait), max(0, int(remaining)), int(reset)

    def peek(self, now: int, cost: int) -> tuple[bool, int, int, int]:
        if cost > self.limit.most:
            return self.never(now)
        wait, remaining, reset, *_ = self.look(now, cost, 0)
        if wait <= 0 and cost > 0:
            _, remaining, reset, *_ = self.look(now, 0, FOREVER)
        return wait <= 0, int(wait), max(0, int(remaining)), int(reset)

    def never(self, now: int) -> tuple[bool, int, int, int]:
        _, remaining, reset, *_ = self.look(now, 0, FOREVER)
        return False, -1, max(0, int(remaining)), int(reset)


def acts(
    limit: Limit, chance: random.Random, until: int = END
) -> Generator[Act, tuple[bool, int, int, int], None]:
    """An endless trace that reacts to what it is told: it comes back in time, early and late."""
    period, most = limit.rate.period, max(1, min(limit.most, 2 * limit.limit))
    costs = [0, 1, 1, 1, 1, 2, 3, most // 3, most // 2, most - 1, most, most + 1]
    spends = [min(cost, limit.heaviest) for cost in costs]
    moves = [0, 0, 0, 0, 1, 2, period // limit.limit, period, period + 1, 3 * period, YEAR]
    moves += [chance.randrange(period) for _ in range(20)]
    moves += [-1, -chance.randrange(SECOND), -SECOND, -SECOND - 1, -9 * SECOND, -period, -YEAR]
    patiences = [0, 0, 1, period // 2, period, 5 * period, limit.horizon]
    patiences = [min(patience, limit.horizon) for patience in patiences]
    # By a calendar every window ahead is looked up: some are enough.
    heaviest = 50 * limit.limit if getattr(limit, "calendar", "") else limit.heaviest
    now, wait, dues = BEGIN, 0, [0]
    yield Act("take", now, 1, 0)
    while True:
        now += wait - chance.randrange(2) if chance.random() < 0.3 else chance.choice(moves)
        if not 0 <= now < until:
            now = BEGIN
        luck, cost = chance.random(), chance.choice(costs)
        if luck < 0.45:
            act = Act("take", now, cost, 0)
        elif luck < 0.65:
            act = Act("take", now, cost, chance.choice(patiences))
        elif luck < 0.70:
            act = Act("peek", now, cost, 0)
        elif luck < 0.76:
            act = Act("charge", now, chance.choice(spends), FAR)
        elif luck < 0.765:
            act = Act("charge", now, heaviest, FAR)
        elif luck < 0.85:
            act = Act("charge", now, -chance.choice(spends), FAR)
        elif luck < 0.985:
            act = Act("charge", now, -chance.choice(spends), chance.choice(dues))
        else:
            yield Act("forget", now, 0, 0)
            act = Act("take", now, 1, 0)
        told = yield act
        wait = max(0, told[1])
        if told[0] and act.do == "take":
            dues = [*dues[-5:], now + wait]
