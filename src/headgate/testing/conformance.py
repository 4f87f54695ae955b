"""Plays the cases against a store: the same table, the same answers, wherever state is kept.

    from headgate.testing import check

    def test_my_store_answers_as_all_others_do() -> None:
        check(lambda limits: MyStore().open(limits, ""))

To see each case as a test of its own, parametrise over `cases()` and call `verify`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from headgate.algorithms.limit import Limit
from headgate.clock import microseconds
from headgate.decision import Decision
from headgate.stores.store import FAR, Ledger
from headgate.testing.cases import NEVER, Answer, Case, Row, cases

Open = Callable[[tuple[Limit, ...]], Ledger]


def check(open_ledger: Open) -> None:
    """Play every case on ledgers that `open_ledger` makes; fail with all that went wrong."""
    problems = [problem for case in cases() for problem in differences(case, open_ledger)]
    if problems:
        raise AssertionError("\n".join(problems))


def verify(case: Case, open_ledger: Open) -> None:
    """Play one case on a new ledger; fail with the rows that were answered differently."""
    problems = differences(case, open_ledger)
    if problems:
        raise AssertionError("\n".join([f"{case.place}: {case.title}", *problems]))


def differences(case: Case, open_ledger: Open) -> list[str]:
    """What a ledger answers otherwise than the case says, a line each."""
    ledger = open_ledger(case.limits)
    found = []
    for row in case.rows:
        answered = act(row, ledger, case.limits)
        if row.answer is not None and row.answer.rule is None and answered is not None:
            answered = answered._replace(rule=None)
        if answered != row.answer:
            found.append(
                f"{row.place}: {row.do} {row.cost} at {spell(row.at, '0s')}: "
                f"expected {say(row.answer)}; answered {say(answered)}"
            )
    return found


def act(row: Row, ledger: Ledger, limits: tuple[Limit, ...]) -> Answer | None:
    """Do what a row says."""
    if row.do == "reset":
        ledger.forget(row.key)
        return None
    if row.do == "peek":
        return seen(ledger.peek(row.key, row.cost, row.at))
    if row.do == "debit":
        return seen(ledger.charge(row.key, row.cost, row.at, FAR))
    if row.do == "refund":
        return seen(ledger.charge(row.key, -row.cost, row.at, FAR))
    if row.do == "cancel":
        return seen(ledger.charge(row.key, -row.cost, row.at, row.due))
    patience = 0
    if row.do == "reserve":
        horizon = min(limit.horizon for limit in limits)
        patience = horizon if row.within == NEVER else min(horizon, row.within)
    return seen(ledger.take(row.key, row.cost, row.at, patience))


def seen(decision: Decision) -> Answer:
    """A decision in whole microseconds, so that nothing is nearly equal."""
    retry = decision.retry_after
    return Answer(
        decision.allowed,
        decision.remaining,
        NEVER if retry == inf else microseconds(retry),
        microseconds(decision.reset_after),
        decision.rule,
    )


def say(answer: Answer | None) -> str:
    if answer is None:
        return "nothing"
    retry = "inf" if answer.retry == NEVER else spell(answer.retry)
    said = f"{'yes' if answer.allowed else 'no'} {answer.remaining} {retry} {spell(answer.reset)}"
    return said if answer.rule is None else f"{said} {answer.rule!r}"


def spell(time: int, zero: str = "-") -> str:
    """Microseconds as tables have them: in the largest unit that leaves no fraction."""
    for unit, length in (("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        if time and time % length == 0:
            return f"{time // length}{unit}"
    return f"{time}us" if time else zero
