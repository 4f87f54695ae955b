"""The engines that all cases are played on, and the parts the other proofs lean on.

- `python`: the step functions as they stand in their sources, interpreted
- `lua`: their rendered twins under Lua 5.1, cells in a Lua table
- `memory`: `MemoryStore` as installed, compiled or not
- `limiter`, `async`: the two limiters, under a clock that is moved by hand

`DISTANT` are those on a server, in either colour: `store` is the ledger itself, `limiter` is a
limiter on it.

The first two know the functions of one algorithm and nothing else, so `Steps` does for them what
the flat table does: ask all limits, then charge all or none. It is written for reading, as the
store's contract says it, and shares no line with the table.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from functools import cache, lru_cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lupa.lua51 import LuaRuntime

from headgate import AsyncLimiter, Decision, FixedWindow, Limiter, ManualClock, MemoryStore
from headgate.algorithms.calendar import frame
from headgate.algorithms.fixed_window import DATED
from headgate.stores.store import FAR, Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headgate import Limit
    from tests.stores.redis.callers import Caller

SOURCES = Path(__file__).parents[2] / "src" / "headgate" / "algorithms"
FOREVER = 1 << 62
# Where `settle` finds, in what `step` answered, the cells that it is told.
ANSWERED = {"here": 3, "entry": 4, "leaves": 5}
# Traces ask for the same windows again and again.
window = lru_cache(100_000)(frame)


class Functions(NamedTuple):
    """What an algorithm's module defines, in one language, and how its parameters are called."""

    step: Callable[..., Any]
    charge: Callable[..., Any]
    settle: Callable[..., Any] | None
    names: dict[str, list[str]]


@cache
def interpreted(name: str) -> Functions:
    """The functions of `name`.py, run from the source even where a compiled module hides it."""
    tree = ast.parse((SOURCES / f"{name}.py").read_text("utf-8"))
    wanted = (ast.FunctionDef, ast.Assign)
    tree.body = [node for node in tree.body if isinstance(node, wanted)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.arg):
            node.annotation = node.returns = None
    found: dict[str, Any] = {}
    exec(compile(tree, f"{name}.py", "exec"), found)
    names = {
        word: list(inspect.signature(found[word]).parameters)
        for word in ("step", "charge", "settle")
        if word in found
    }
    return Functions(found["step"], found["charge"], found.get("settle"), names)


LUA = LuaRuntime(unpack_returned_tuples=True)


@cache
def rendered(name: str) -> Functions:
    """The functions of `name`.lua."""
    twin = LUA.execute((SOURCES / f"{name}.lua").read_text("utf-8"))
    return Functions(twin.step, twin.charge, twin.settle, interpreted(name).names)


class LuaCells:
    """A Lua table that counts from 0, as the cells of a store do."""

    def __init__(self, values: Sequence[int]) -> None:
        self.table = LUA.table_from(values)

    def __getitem__(self, place: int) -> int:
        return int(self.table[place + 1])

    def __setitem__(self, place: int, value: int) -> None:
        self.table[place + 1] = value


class Meter:
    """One limit applied to the cells of one key by plain step functions.

    Every parameter of a step is the number of the request, an attribute of the limit, or one of
    its cells, and is called so; this is all that is assumed about an algorithm.
    """

    def __init__(self, limit: Limit, functions: Functions, make: Callable[..., Any]) -> None:
        self.limit = limit
        self.functions = functions
        self.make = make
        self.cells = make([0] * limit.width)

    def open(self, now: int) -> None:
        """The cells of a key never seen."""
        self.cells = self.make(opening(self.limit, now))

    def look(self, now: int, enter: int, cost: int, patience: int) -> tuple[int, ...]:
        told = {"now": now, "enter": enter, "cost": cost, "patience": patience}
        answer = tuple(int(number) for number in self.call("step", told))
        return dated(self.limit, now, patience, answer)

    def keep(self, now: int, cost: int, answer: tuple[int, ...]) -> None:
        if self.functions.settle is None:
            self.write(answer[3:])
            return
        told = {name: answer[place] for name, place in ANSWERED.items()}
        self.call("settle", told | {"now": now, "cost": cost})

    def charge(self, now: int, cost: int, due: int) -> None:
        kept = self.call("charge", {"now": now, "cost": cost, "due": due})
        if kept is not None:
            self.write(kept)

    def call(self, word: str, told: dict[str, int]) -> Any:
        names = self.functions.names[word]
        function = getattr(self.functions, word)
        if names[-2:] == ["cells", "row"]:
            told |= attributes(self.limit, names[:-2], told)
            cells = getattr(self.cells, "table", self.cells)
            return function(*(told[name] for name in names[:-2]), cells, 0)
        numbers = names[: len(names) - self.limit.width]
        told |= attributes(self.limit, numbers, told)
        cells = [self.cells[place] for place in range(self.limit.width)]
        return function(*(told[name] for name in numbers), *cells)

    def write(self, values: Sequence[int]) -> None:
        for place, value in enumerate(values):
            self.cells[place] = int(value)

    def read(self) -> list[int]:
        return [self.cells[place] for place in range(self.limit.width)]


def attributes(limit: Limit, names: list[str], told: dict[str, int]) -> dict[str, int]:
    """The parameters that the limit knows; a calendar's are those of the day that it is."""
    found = {name: getattr(limit, name) for name in names if name not in told}
    if isinstance(limit, FixedWindow) and limit.calendar:
        first, begin, end = window(told["now"], limit.calendar, limit.zone)
        found |= {"first": first, "begin": begin, "length": end - begin, "unit": end - begin}
    return found


def dated(limit: Limit, now: int, patience: int, answer: Any) -> Any:
    """An answer whose wait and reset are those of the calendar, if the limit follows one.

    A step counts windows as long as the one that `now` is in; those ahead are shorter or longer.
    """
    if not isinstance(limit, FixedWindow) or not limit.calendar:
        return answer
    wait, remaining, reset, *cells = answer
    due = ahead(limit, now, wait)
    if wait > patience:
        # By the calendar it may be just in time: what the step refused stays refused.
        due = max(due, patience + 1)
    return due, remaining, ahead(limit, now, reset), *cells


def ahead(limit: FixedWindow, now: int, span: int) -> int:
    """How long it is by the calendar until the window `span` ahead has got as far as it would."""
    _, begin, end = window(now, limit.calendar, limit.zone)
    if now + span <= end:
        return span
    length = end - begin
    windows, rest = divmod(now + span - begin, length)
    for _ in range(min(windows, DATED)):
        _, begin, end = window(end, limit.calendar, limit.zone)
    return begin + max(0, windows - DATED) * length + rest - now


def opening(limit: Limit, now: int) -> list[int]:
    """The cells of a key never seen, by the words at the head of each algorithm."""
    kind = type(limit).__name__
    if kind == "TokenBucket":
        return [limit.initial * limit.scale, now]
    if kind == "WarmUp":
        return [limit.cold, 0, now]
    return [0] * limit.width


class Steps:
    """A ledger over step functions: the table's contract in the fewest words."""

    def __init__(
        self,
        limits: tuple[Limit, ...],
        functions: Callable[[str], Functions],
        make: Callable[..., Any],
    ) -> None:
        self.limits = limits
        self.functions = functions
        self.make = make
        self.keys: dict[str, list[Meter]] = {}

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        if cost == 0:
            return self.look(key, 0, now, patience)
        if key not in self.keys:
            self.keys[key] = self.fresh(now)
        meters = self.keys[key]
        answers = consult(meters, now, cost, patience)
        if answers and longest(answers) <= patience:
            for meter, answer in zip(meters, answers, strict=True):
                meter.keep(now, cost, answer)
        elif answers:
            self.refuse(meters, answers, now, patience)
            answers = consult(meters, now, cost, patience)
        return decide(meters, answers, now, cost, patience)

    def peek(self, key: str, cost: int, now: int) -> Decision:
        return self.look(key, cost, now, 0)

    def look(self, key: str, cost: int, now: int, patience: int) -> Decision:
        meters = self.keys.get(key) or self.fresh(now)
        answers = consult(meters, now, cost, patience)
        if answers and cost > 0 and longest(answers) <= patience:
            answers = [(0, *meter.look(now, now, 0, FOREVER)[1:]) for meter in meters]
        return decide(meters, answers, now, cost, patience)

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        if key not in self.keys and cost > 0:
            self.keys[key] = self.fresh(now)
        for meter in self.keys.get(key, []):
            if meter.limit.most >= 0:
                meter.charge(now, cost, due)
        return self.peek(key, 0, now)

    def forget(self, key: str) -> None:
        self.keys.pop(key, None)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        return [self.take(key, cost, now, 0) for key in keys]

    def refuse(self, meters: list[Meter], answers: list[Any], now: int, patience: int) -> None:
        """Let cells that moved with the clock stay so, then charge penalties."""
        restate(meters, now)
        punish(meters, answers, now, patience)

    def fresh(self, now: int) -> list[Meter]:
        meters = [
            Meter(limit, self.functions(type(limit).__module__.rpartition(".")[2]), self.make)
            for limit in self.limits
        ]
        for meter in meters:
            meter.open(now)
        return meters


def consult(meters: list[Meter], now: int, cost: int, patience: int) -> list[tuple[int, ...]]:
    """What every limit answers about the first moment all of them allow; none where one never."""
    if any(cost > meter.limit.most for meter in meters):
        return []
    enter = now
    answers = [meter.look(now, enter, cost, patience) for meter in meters]
    while len(meters) > 1 and enter - now < longest(answers) <= patience:
        enter = now + longest(answers)
        answers = [meter.look(now, enter, cost, patience) for meter in meters]
    return answers


def restate(meters: list[Meter], now: int) -> None:
    """Write what is true as of now."""
    for meter in meters:
        if meter.limit.most >= 0:
            meter.keep(now, 0, meter.look(now, now, 0, FOREVER))


def punish(meters: list[Meter], answers: list[Any], now: int, patience: int) -> None:
    """Charge the penalties of those that refused, up to a full bucket."""
    for meter, (wait, remaining, *_) in zip(meters, answers, strict=True):
        if wait > patience and meter.limit.penalty and remaining > -owing(meter.limit):
            meter.charge(now, meter.limit.penalty, now)


def owing(limit: Limit) -> int:
    """The units a key may owe before penalties stop: all that the limit holds."""
    return 2 * limit.cold // limit.scale if type(limit).__name__ == "WarmUp" else limit.limit


def decide(meters: list[Meter], answers: list[Any], now: int, cost: int, patience: int) -> Decision:
    """The decision of all: who can never, else who is slowest, else who is tightest."""
    if not answers:
        meter = next(meter for meter in meters if cost > meter.limit.most)
        remaining = reset = 0
        if meter.limit.most >= 0:
            _, remaining, reset, *_ = meter.look(now, now, 0, FOREVER)
        return say(meter.limit, False, remaining, inf, reset)
    wait = longest(answers)
    allowed = wait <= patience
    pairs = list(zip(meters, answers, strict=True))
    chosen = min(pairs, key=lambda pair: pair[1][1] if allowed else -pair[1][0])
    return say(chosen[0].limit, allowed, chosen[1][1], wait / 1e6, chosen[1][2])


def say(limit: Limit, allowed: bool, remaining: int, retry: float, reset: int) -> Decision:
    return Decision(allowed, limit.limit, max(0, remaining), retry, reset / 1e6, limit.name)


def longest(answers: list[Any]) -> int:
    return max(0, *(answer[0] for answer in answers), 0)


class Surface:
    """A ledger over a limiter and a clock that is moved by hand."""

    def __init__(self, limits: tuple[Limit, ...], make: Callable[..., Any]) -> None:
        self.clock = ManualClock()
        self.limiter = make(*limits, clock=self.clock)
        self.bookings: dict[tuple[str, int, int], Any] = {}

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        self.clock.set(now / 1e6)
        if patience == 0:
            return done(self.limiter.take(key, cost))
        booking = done(self.limiter.reserve(key, cost, timeout=patience / 1e6))
        if booking:
            due = now + round(booking.wait * 1e6)
            self.bookings[key, cost, due] = booking
        return booking.decision

    def peek(self, key: str, cost: int, now: int) -> Decision:
        self.clock.set(now / 1e6)
        return done(self.limiter.peek(key, cost))

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        self.clock.set(now / 1e6)
        if cost >= 0:
            return done(self.limiter.debit(key, cost))
        if due == FAR:
            return done(self.limiter.refund(key, -cost))
        done(self.bookings.pop((key, -cost, due)).cancel())
        return self.peek(key, 0, now)

    def forget(self, key: str) -> None:
        done(self.limiter.reset(key))

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        self.clock.set(now / 1e6)
        return done(self.limiter.take_many(keys, cost))


def done(answer: Any) -> Any:
    """The answer, awaited where it has to be."""
    if not inspect.iscoroutine(answer):
        return answer

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())


ENGINES: dict[str, Callable[[tuple[Limit, ...]], Ledger]] = {
    "python": lambda limits: Steps(limits, interpreted, list),
    "lua": lambda limits: Steps(limits, rendered, LuaCells),
    "memory": lambda limits: MemoryStore(capacity=64).open(limits, ""),
    "limiter": lambda limits: Surface(limits, partial(Limiter, store=MemoryStore(64))),
    "async": lambda limits: Surface(limits, partial(AsyncLimiter, store=MemoryStore(64))),
}
DISTANT: dict[str, Callable[[Caller, tuple[Limit, ...]], Ledger]] = {
    "store": lambda caller, limits: caller.open(limits, clock=ManualClock()),
    "limiter": lambda caller, limits: Surface(limits, caller.limiter),
}
