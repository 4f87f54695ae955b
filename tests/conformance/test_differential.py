"""Same trace, same answer: the steps interpreted, the table as installed, and Lua agree.

Each algorithm plays 6,000 random acts (100 times as many under `make soak`) over limits of many
shapes: takes, reservations with little and much patience, looks, debits up to the
largest there may be, refunds and cancelled bookings, at the very moment it was told to come back
and one microsecond earlier, with clocks that step back a little and far, and gaps of years. After
each act the answers are equal, and so are the cells.
"""

from __future__ import annotations

import random
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from headgate.stores.flat.table import Table
from headgate.stores.store import FAR, Ledger
from tests.conformance.bare import Act, Bare, acts
from tests.conformance.engines import ENGINES, interpreted, rendered
from tests.conformance.limits import LIMITS

if TYPE_CHECKING:
    from headgate import Limit

LENGTH = 6_000
KEY = "key"


@pytest.mark.parametrize("algorithm", LIMITS)
def test_interpreted_installed_and_lua_agree(algorithm: str, scale: int) -> None:
    length = -(-LENGTH * (10 * scale if scale > 1 else 1) // len(LIMITS[algorithm]))
    for seed, limit in enumerate(LIMITS[algorithm]):
        agree(limit, algorithm, seed, length)


def agree(limit: Limit, algorithm: str, seed: int, length: int) -> None:
    """Play `length` acts on all three, or fail with the acts that led to the difference."""
    table = Table((limit,), 4)
    python = Bare(limit, interpreted(algorithm))
    lua = Bare(limit, rendered(algorithm), lua=True)
    trace = acts(limit, random.Random(seed))
    act = next(trace)
    done = []
    for number in range(length):
        done.append(act)
        told = perform(table, act)
        answers = (told, seen(python.perform(act)), seen(lua.perform(act)))
        cells = table.read(KEY) if limit.width < 4 or not told[0] or number % 16 == 0 else None
        if cells is not None and not told[0] and cells != python.read():
            # A refusal may write down that the clock went back, and nothing else.
            python.rebase(act.now)
            lua.rebase(act.now)
        same = cells is None or cells == python.read() == lua.read()
        if not same or not answers[0] == answers[1] == answers[2]:
            kept = (cells, python.read(), lua.read())
            raise AssertionError(report(limit, seed, done, answers, kept))
        act = trace.send(told)


@pytest.mark.parametrize("algorithm", LIMITS)
def test_a_limiter_answers_as_its_table_does(algorithm: str, scale: int) -> None:
    for seed, limit in enumerate(LIMITS[algorithm]):
        table = Table((limit,), 4)
        limiter = ENGINES["limiter"]((limit,))
        # Its clock is told seconds, and a float holds their microseconds until about 2040.
        trace = acts(limit, random.Random(seed), until=1 << 51)
        act = next(trace)
        for _ in range(600 * scale):
            if act.do == "charge" and act.extra != FAR:
                act = act._replace(extra=FAR)
            told = perform(table, act)
            assert perform(limiter, act) == told, (limit, act)
            act = trace.send(told)


def perform(table: Ledger, act: Act) -> tuple[bool, int, int, int]:
    """Let a ledger do it; the answer in whole microseconds, -1 for never."""
    if act.do == "forget":
        table.forget(KEY)
        return (True, 0, 0, 0)
    if act.do == "take":
        decision = table.take(KEY, act.cost, act.now, act.extra)
    elif act.do == "peek":
        decision = table.peek(KEY, act.cost, act.now)
    else:
        decision = table.charge(KEY, act.cost, act.now, act.extra)
    retry = decision.retry_after
    wait = -1 if retry == inf else round(retry * 1e6)
    return decision.allowed, wait, decision.remaining, round(decision.reset_after * 1e6)


def seen(answer: tuple[bool, int, int, int]) -> tuple[bool, int, int, int]:
    """The answer as a decision can say it: seconds that are a float, exact for about 70 years."""
    allowed, wait, remaining, reset = answer
    return allowed, round(wait / 1e6 * 1e6), remaining, round(reset / 1e6 * 1e6)


def report(limit: Limit, seed: int, done: list[Act], answers: Any, kept: Any) -> str:
    """The last acts, and what each engine answered and keeps."""
    engines = ("installed", "python", "lua")
    lines = [f"{limit!r}, seed {seed}, after {len(done)} acts; the last of them:"]
    lines += [f"  {act!r}" for act in done[-12:]]
    lines += [
        f"  {engine:9} answered {answer}, keeps {cells}"
        for engine, answer, cells in zip(engines, answers, kept, strict=True)
    ]
    return "\n".join(lines)
