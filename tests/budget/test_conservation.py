"""Nothing is made out of nothing: over any tree of calls, whatever is lost on the way.

granted = spent + given back + what was in headers that did not arrive
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from headgate import Budget, FundsExhausted, LimitExceeded, ManualClock, Purse
from headgate.budgets.counts import Counts
from tests.budget.kit import chain, left

CAPACITY = 100


class Call(NamedTuple):
    """A call to a service: what it costs, whom it calls, all at once or not, and what gets lost."""

    service: int
    before: int
    after: int
    calls: tuple[Call, ...]
    at_once: bool
    lost: str
    late: bool


def calling(inner: st.SearchStrategy[tuple[Call, ...]]) -> st.SearchStrategy[Call]:
    return st.builds(
        Call,
        st.integers(0, 2),
        st.integers(0, 15),
        st.integers(0, 15),
        inner,
        st.booleans(),
        st.sampled_from(["", "", "", "request", "answer", "unsent"]),
        st.booleans(),
    )


TREES = st.recursive(
    calling(st.just(())),
    lambda inner: calling(st.lists(inner, max_size=3).map(tuple)),
    max_leaves=8,
)


class Play:
    """Plays trees of calls, and adds up what gets lost."""

    def __init__(self, budgets: list[Budget]) -> None:
        self.budgets = budgets
        self.vanished = 0

    def enter(self, call: Call, account: str = "") -> None:
        """A request comes in from outside."""
        with (
            suppress(FundsExhausted, LimitExceeded),
            self.budgets[call.service].open(account=account) as purse,
        ):
            self.work(call, purse)

    def serve(self, call: Call, header: str) -> str:
        """A service of ours is called; what it answers."""
        purse: Purse = self.budgets[call.service].open(header)
        with suppress(FundsExhausted):
            self.work(call, purse)
        if call.late:
            # It answers, and does more.
            answer = purse.answer()
            with suppress(FundsExhausted):
                purse.spend(3)
        else:
            answer = purse.answer()
        purse.close()
        return answer

    def work(self, call: Call, purse: Purse) -> None:
        purse.spend(call.before)
        parts = purse.split(len(call.calls)) if call.at_once and call.calls else []
        for number, one in enumerate(call.calls):
            if parts:
                with parts[number] as part:
                    self.call(one, part)
            else:
                self.call(one, purse)
        purse.spend(call.after)

    def call(self, call: Call, purse: Purse) -> None:
        loan = purse.lend()
        if call.lost == "unsent":
            loan.cancel()
        elif call.lost == "request":
            self.vanished += loan.part
        else:
            answer = self.serve(call, loan.text)
            if call.lost == "answer":
                note = purse.budget.mint.read(answer)
                assert note is not None
                self.vanished += note.left
            else:
                assert loan.settle(answer)
                # A second time it brings nothing.
                assert not loan.settle(answer)


def counts(budgets: list[Budget]) -> list[Counts]:
    return [budget.counts for budget in budgets]


@given(TREES)
def test_what_was_granted_is_what_was_spent_and_given_back_and_lost(tree: Call) -> None:
    budgets = chain(ManualClock(1000.0), 3, "100/min")
    play = Play(budgets)
    play.enter(tree)
    granted, spent, returned, *_ = (sum(column) for column in zip(*counts(budgets), strict=True))

    assert granted == spent + returned + play.vanished
    # The clock stands still, so the bucket tells the same.
    assert left(budgets[0]) == CAPACITY - granted + returned


@given(st.lists(st.tuples(TREES, st.integers(0, 30)), min_size=1, max_size=6))
def test_no_more_is_ever_spent_than_the_bucket_lets_go(comings: list[tuple[Call, int]]) -> None:
    clock = ManualClock(1000.0)
    budgets = chain(clock, 3, "100/min", most=60)
    play = Play(budgets)
    passed = 0
    for tree, seconds in comings:
        clock.advance(seconds)
        passed += seconds
        play.enter(tree)

        assert sum(budget.counts.spent for budget in budgets) <= CAPACITY + passed * 100 / 60


@given(st.lists(TREES, min_size=1, max_size=4))
def test_requests_under_way_at_once_do_not_spend_more(trees: list[Call]) -> None:
    budgets = chain(ManualClock(1000.0), 3, "100/min")
    play = Play(budgets)
    held = []
    for tree in trees:
        with suppress(LimitExceeded):
            held.append((tree, budgets[tree.service].open()))
    for tree, purse in held:
        with suppress(FundsExhausted):
            play.work(tree, purse)
    for _, purse in held:
        purse.close()

    assert sum(budget.counts.spent for budget in budgets) <= CAPACITY


def test_threads_that_serve_one_request_share_what_it_has() -> None:
    (budget,) = chain(ManualClock(1000.0), 1, "10000/min", grant=100)
    purse = budget.open()

    def work(number: int) -> int:
        paid = 0
        for _ in range(50):
            with suppress(FundsExhausted):
                purse.spend(number % 3)
                paid += number % 3
            loan = purse.lend(number)
            loan.cancel()
        return paid

    with ThreadPoolExecutor(8) as pool:
        paid = sum(pool.map(work, range(16)))
    purse.close()
    counts = budget.counts

    assert counts.spent == paid
    assert counts.granted == counts.spent + counts.returned
    assert counts.lost == 0


def test_a_part_that_comes_back_too_late_is_lost() -> None:
    budget, other = chain(ManualClock(1000.0), 2)
    purse = budget.open()
    loan = purse.lend(15)
    called = other.open(loan.text)
    purse.close()
    answer = called.answer()
    called.close()

    assert not loan.settle(answer)
    assert budget.counts[:4] == (20, 0, 5, 15)
    assert other.counts[:4] == (0, 0, 0, 0)
