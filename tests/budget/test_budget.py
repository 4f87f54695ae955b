"""A request is granted an amount, spends it where it goes, and is told apart when that is all."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
from math import inf
from pathlib import Path
from typing import Any

import pytest

from headgate import (
    AsyncLimiter,
    Budget,
    CannotFit,
    Decision,
    FundsExhausted,
    Limiter,
    LimitExceeded,
    ManualClock,
    Purse,
    PurseRefused,
    SharedStore,
    StoreUnavailable,
)
from headgate.budgets.counts import Counts
from headgate.budgets.guess import MOST, Guess
from headgate.budgets.purse import CURRENT
from tests.budget.kit import KEY, OTHER, chain, left, made


class Asked:
    """How often a limit was asked for something; what is given back is not counted."""

    def __init__(self, limiter: Any) -> None:
        self.times = 0
        limiter.listen(self.note)

    def note(self, key: str, decision: Decision) -> None:
        self.times += 1


@pytest.fixture
def now() -> ManualClock:
    """A clock that does not stand at the beginning of time, as some are behind others."""
    return ManualClock(1000.0)


def test_nobody_is_asked_while_funds_last(now: ManualClock) -> None:
    shop, price, stock = chain(now, 3)
    asked = Asked(shop.limiter)
    purse = shop.open(account="ann")
    entering = asked.times
    purse.spend(5)
    loan = purse.lend()
    second = price.open(loan.text)
    second.spend(6)
    inner = second.lend()
    third = stock.open(inner.text)
    third.spend(4)
    inner.settle(third.answer())
    third.close()
    loan.settle(second.answer())
    second.close()

    assert (entering, asked.times) == (1, 1)
    assert (purse.left, purse.spent) == (5, 5)


def test_what_is_left_goes_back_at_the_end(now: ManualClock) -> None:
    budget = made(now)
    with budget.open(account="ann") as purse:
        purse.spend(7)
        inside = left(budget, "ann")

    assert (inside, left(budget, "ann")) == (80, 93)
    assert budget.counts == Counts(granted=20, spent=7, returned=13, entered=1)


def test_who_goes_short_applies_once_and_goes_on_with_what_it_got(now: ManualClock) -> None:
    budget = made(now)
    asked = Asked(budget.limiter)
    purse = budget.open()
    purse.spend(18)
    purse.spend(5)

    assert asked.times == 2
    # Another 20, of which 3 were missing.
    assert (purse.left, purse.spent) == (17, 23)
    assert budget.counts == Counts(granted=40, spent=23, entered=1, reapplied=1)


def test_who_needs_more_than_a_grant_is_granted_as_much(now: ManualClock) -> None:
    budget = made(now)
    purse = budget.open()
    purse.spend(60)

    assert (purse.left, budget.counts.granted) == (0, 60)


def test_funds_exhausted_midway_are_another_thing_than_a_refusal_at_the_entrance(
    now: ManualClock,
) -> None:
    budget = made(now, "30/min")
    purse = budget.open(account="ann")
    purse.spend(15)
    with pytest.raises(LimitExceeded) as entrance:
        budget.open(account="ann")
    with pytest.raises(FundsExhausted) as midway:
        purse.spend(16)

    assert not isinstance(entrance.value, FundsExhausted)
    assert not isinstance(midway.value, LimitExceeded)
    assert midway.value.reason == "funds"
    assert (midway.value.cost, midway.value.left) == (16, 5)
    assert str(midway.value) == "funds exhausted midway: 16 needed, 5 left"
    # A whole grant of 20 is there when 10 more have come, at two seconds each.
    assert midway.value.retry_after == 20.0
    # Nothing was spent by it.
    assert (purse.left, purse.spent, purse.broken) == (5, 15, True)
    purse.close()
    assert budget.counts == Counts(
        granted=20, spent=15, returned=5, entered=1, refused_at_entrance=1, reapplied=1,
        exhausted_midway=1, broken=1,
    )  # fmt: skip


def test_where_there_is_no_whole_grant_any_more_what_is_missing_is_enough(now: ManualClock) -> None:
    budget = made(now, "30/min")
    purse = budget.open()
    purse.spend(25)

    assert purse.spent == 25
    assert budget.counts == Counts(granted=25, spent=25, entered=1, reapplied=1)


def test_that_a_chain_broke_is_known_at_the_entrance(now: ManualClock) -> None:
    shop, price = chain(now, 2, "20/min")
    purse = shop.open()
    loan = purse.lend()
    called = price.open(loan.text)
    with pytest.raises(FundsExhausted):
        called.spend(30)
    loan.settle(called.answer())
    called.close()
    purse.close()

    assert (shop.counts.broken, shop.counts.exhausted_midway) == (1, 0)
    assert (price.counts.broken, price.counts.exhausted_midway) == (0, 1)


def test_a_plan_says_how_much(now: ManualClock) -> None:
    budget = made(now)
    purse = budget.open(account="bob", plan="free")
    purse.spend(6)

    # Five, and when that was not enough another five.
    assert (purse.left, left(budget, "bob")) == (4, 90)
    assert budget.open(account="bob", plan="unheard of").left == 20


def test_the_important_ask_nobody_wherever_they_go(now: ManualClock) -> None:
    shop, price = chain(now, 2, plans={"vip": "unlimited"})
    asked = Asked(shop.limiter)
    purse = shop.open(account="eve", plan="vip")
    purse.spend(1_000_000)
    loan = purse.lend()
    called = price.open(loan.text)
    called.spend(1_000_000)
    answer = called.answer()
    called.close()
    parts = purse.split(2)
    purse.close()

    assert asked.times == 0
    assert (purse.left, called.left, called.unlimited, answer) == (inf, inf, True, "")
    assert [part.left for part in parts] == [inf, inf]
    assert shop.counts == Counts(spent=1_000_000, uncounted=1)
    assert left(shop, "eve") == 100


def test_a_request_that_brings_something_does_not_come_in_here(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    purse = shop.open(account="ann")
    called = price.open(purse.lend(12).text, account="somebody else")

    assert (called.left, called.entered, purse.entered) == (12, False, True)
    assert called.account == purse.account
    assert purse.answer() == ""


@pytest.mark.parametrize("stranger", ["refuse", "grant"])
@pytest.mark.parametrize("reason", ["forged", "expired", "replayed"])
def test_what_does_not_count_is_never_believed(
    now: ManualClock, reason: str, stranger: str
) -> None:
    budget, other = made(now, stranger=stranger), made(now, keys=OTHER)
    text = (other if reason == "forged" else budget).open().lend().text
    if reason == "expired":
        now.advance(31.0)
    if reason == "replayed":
        budget.open(text)
    before = left(budget, "ann")
    if stranger == "refuse":
        with pytest.raises(PurseRefused) as caught:
            budget.open(text, "ann")
        assert (caught.value.reason, left(budget, "ann")) == (reason, before)
        assert str(caught.value) == f"the request's budget is {reason}"
    else:
        purse = budget.open(text, "ann")
        # As if it had brought nothing: it is granted something, and that is taken out.
        assert (purse.left, purse.entered, left(budget, "ann")) == (20, True, before - 20)
    assert getattr(budget.counts, reason) == 1


def test_a_service_inside_may_want_something_to_be_brought(now: ManualClock) -> None:
    budget = made(now, missing="refuse")
    with pytest.raises(PurseRefused) as caught:
        budget.open(account="ann")

    assert caught.value.reason == "missing"
    assert budget.counts == Counts(missing=1)


@pytest.mark.parametrize(
    ("apart", "good"),
    [(-1.1, False), (-0.9, True), (0.0, True), (30.9, True), (31.1, False)],
)
def test_clocks_may_differ_by_a_second(apart: float, good: bool) -> None:
    ahead = ManualClock(1000.0)
    text = made(ahead).open().lend().text
    budget = made(ManualClock(1000.0 + apart))
    if good:
        assert budget.open(text).left == 20
    else:
        with pytest.raises(PurseRefused, match="expired"):
            budget.open(text)


def test_a_header_lives_no_longer_than_both_sides_will(now: ManualClock) -> None:
    text = made(now, ttl=3000.0).open().lend().text
    now.advance(31.0)

    with pytest.raises(PurseRefused, match="expired"):
        made(now).open(text)


def test_a_copy_counts_once_for_each_process_and_with_once_for_all_of_them(tmp_path: Path) -> None:
    # Each has a memory of its own, as processes have.
    apart = [Budget("100/min", grant=20, keys=KEY) for _ in range(2)]
    store: Any = SharedStore("once", folder=str(tmp_path))
    together = [Budget("100/min", grant=20, keys=KEY, once=store) for _ in range(2)]
    text = apart[0].open().lend().text
    copies = [budget.open(text).left for budget in apart]
    first = together[0].open(text).left
    with pytest.raises(PurseRefused, match="replayed"):
        together[1].open(text)

    assert (copies, first) == ([20, 20], 20)
    assert [budget.counts.replayed for budget in together] == [0, 1]


def test_where_nobody_knows_whether_it_was_here_it_is_no_yes(now: ManualClock) -> None:
    budget = made(now, once="redis://127.0.0.1:1?budget=0.05")
    text = budget.open().lend().text

    with pytest.raises(StoreUnavailable):
        budget.open(text)


def test_an_answer_belongs_to_one_call(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    purse = shop.open()
    first, second = purse.lend(10), purse.lend(10)
    answers = []
    for loan in (first, second):
        called = price.open(loan.text)
        called.spend(1)
        answers.append(called.answer())
    swapped = first.settle(answers[1])
    settled = [first.settle(answers[0]), first.settle(answers[0]), second.settle(answers[1])]

    assert (swapped, settled) == (False, [True, False, True])
    assert (purse.left, shop.counts.forged) == (18, 1)


def test_a_request_is_no_answer_and_an_answer_no_request(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    loan = shop.open().lend()
    answer = price.open(loan.text).answer()

    assert not loan.settle(loan.text)
    for text in (answer, "x" * 112, "", "\udc80"):
        if text:
            with pytest.raises(PurseRefused, match="forged"):
                price.open(text)


def test_what_is_answered_is_gone_and_more_is_granted_anew(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    loan = shop.open().lend(15)
    called = price.open(loan.text)
    called.spend(5)
    answer = called.answer()
    gone = called.left
    called.spend(1)
    called.close()

    assert loan.settle(answer)
    assert (loan.purse.left, gone, called.answer()) == (15, 0, "")
    assert price.counts == Counts(granted=20, spent=6, returned=19, reapplied=1)


def test_a_purse_is_split_for_what_is_done_at_once(now: ManualClock) -> None:
    purse = made(now).open()
    parts = purse.split(3)
    sizes = [part.left for part in parts], purse.left
    for part in parts:
        with part:
            part.spend(2)
    again = purse.left

    assert sizes == ([7, 7, 6], 0)
    assert (again, purse.spent) == (14, 0)


def test_a_purse_that_is_set_twice_is_set_no_more_at_the_end(now: ManualClock) -> None:
    with made(now).open() as purse:
        with purse:
            inside = CURRENT.get()
        between = CURRENT.get()

    assert (inside, between, CURRENT.get()) == (purse, purse, None)


def test_a_part_that_goes_short_applies_for_itself(now: ManualClock) -> None:
    budget = made(now)
    purse = budget.open()
    with purse.part(3) as part:
        part.spend(5)
    purse.close()

    assert budget.counts == Counts(granted=40, spent=5, returned=35, entered=1, reapplied=1)


def test_a_part_of_a_part_comes_all_the_way_back(now: ManualClock) -> None:
    purse = made(now).open()
    with purse.part(10) as part, part.part(4) as least:
        least.spend(1)
        sizes = purse.left, part.left, least.left

    assert (sizes, purse.left) == ((10, 6, 3), 19)


def test_what_was_not_sent_comes_back(now: ManualClock) -> None:
    purse = made(now).open()
    loan = purse.lend()
    loan.cancel()
    loan.cancel()

    assert purse.left == 20


def test_what_is_reserved_is_granted_at_once(now: ManualClock) -> None:
    budget = made(now)

    assert budget.open(reserve=50).left == 50
    assert budget.open(reserve=3).left == 20
    with pytest.raises(CannotFit):
        budget.open(reserve=101)


def test_what_chains_have_cost_is_granted_at_once(now: ManualClock) -> None:
    budget = made(now, "1000/min", most=60)

    def go(cost: int, route: str = "/cart") -> int:
        with budget.open(route=route) as purse:
            amount: int = purse.fund.brought
            purse.spend(cost)
            return amount

    dear = [go(45) for _ in range(3)]
    reapplied = budget.counts.reapplied
    other = go(1, "/help")
    cheap = [go(5) for _ in range(40)]

    # Once it went short, and from then on it was given enough.
    assert (dear, reapplied, other) == ([20, 45, 45], 1, 20)
    assert (cheap[:3], cheap[-1]) == ([45, 40, 35], 20)
    assert go(500) == 20
    assert go(1) == 60


def test_guesses_are_bounded() -> None:
    guess = Guess()
    for number in range(3 * MOST):
        guess.learn(f"/{number}", number)

    assert (guess.tell("/5"), guess.tell("/2999")) == (5, 2999)
    assert len(guess._costs) == MOST + 1


def test_a_chain_that_broke_teaches_nothing(now: ManualClock) -> None:
    budget = made(now, "30/min", most=30)
    purse = budget.open()
    with pytest.raises(FundsExhausted):
        purse.spend(40)
    purse.close()

    assert budget._guess.tell("") == 0


def test_a_purse_is_closed_once(now: ManualClock) -> None:
    budget = made(now)
    purse = budget.open()
    purse.close()
    purse.close()
    purse.spend(3)

    # Nothing of what is granted after the end would go back: it is no more than it costs.
    assert budget.counts == Counts(granted=23, spent=3, returned=20, entered=1, reapplied=1)


def test_the_same_awaited(now: ManualClock) -> None:
    async def play() -> tuple[Any, ...]:
        shop = made(now, kind=AsyncLimiter)
        price = made(now)
        async with await shop.open(account="ann") as purse:
            await purse.spend(5)
            loan = purse.lend()
            called = price.open(loan.text)
            called.spend(3)
            loan.settle(called.answer())
            await purse.spend(15)
            with purse.part(4) as part:
                await part.spend(1)
            try:
                await purse.spend(200)
            except FundsExhausted as no:
                said = no.cost
        again = await shop.peek("ann")
        await shop.reset("ann")
        return said, again.remaining, (await shop.peek("ann")).remaining, shop.counts

    said, remaining, fresh, counts = asyncio.run(play())

    assert (said, remaining, fresh) == (200, 76, 100)
    assert counts == Counts(
        granted=40, spent=21, returned=16, entered=1, reapplied=2, exhausted_midway=1, broken=1
    )


def test_who_is_cancelled_while_it_applies_has_what_it_had(now: ManualClock) -> None:
    class Slow:
        """A limiter of which nobody knows when it answers."""

        async def take(self, key: str, cost: int) -> Decision:
            await asyncio.Event().wait()
            raise AssertionError

    async def play() -> tuple[float, int]:
        budget = made(now, kind=AsyncLimiter)
        purse = await budget.open()
        limiter, budget.limiter = budget.limiter, Slow()  # type: ignore[assignment]
        task = asyncio.ensure_future(purse.spend(30))
        await asyncio.sleep(0)
        during = purse.left
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        budget.limiter = limiter
        return during, purse.left

    assert asyncio.run(play()) == (0, 20)


class Slow:
    """A limiter that answers when it is told to."""

    def __init__(self, limiter: Any) -> None:
        self.limiter = limiter
        self.answered = asyncio.Event()

    async def take(self, key: str, cost: int) -> Decision:
        await self.answered.wait()
        decision: Decision = await self.limiter.take(key, cost)
        return decision

    async def refund(self, key: str, cost: int) -> Decision:
        await self.answered.wait()
        decision: Decision = await self.limiter.refund(key, cost)
        return decision


def test_what_is_left_goes_back_although_who_closes_is_cancelled(now: ManualClock) -> None:
    async def play() -> tuple[Counts, int]:
        budget = made(now, kind=AsyncLimiter)
        purse = await budget.open(account="ann")
        limiter, slow = budget.limiter, Slow(budget.limiter)
        budget.limiter = slow  # type: ignore[assignment]
        closing = asyncio.ensure_future(purse.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        slow.answered.set()
        for _ in range(5):
            await asyncio.sleep(0)
        budget.limiter = limiter
        return budget.counts, (await budget.peek("ann")).remaining

    assert asyncio.run(play()) == (Counts(granted=20, returned=20, entered=1), 100)


def test_what_is_granted_while_the_purse_is_closed_goes_back(now: ManualClock) -> None:
    async def play() -> tuple[Counts, int]:
        budget = made(now, kind=AsyncLimiter)
        purse = await budget.open(account="ann")
        limiter, slow = budget.limiter, Slow(budget.limiter)
        budget.limiter = slow  # type: ignore[assignment]
        spending = asyncio.ensure_future(purse.spend(23))
        await asyncio.sleep(0)
        budget.limiter = limiter
        await purse.close()
        slow.answered.set()
        await spending
        return budget.counts, (await budget.peek("ann")).remaining

    counts, remaining = asyncio.run(play())

    # Of the second 20 it has spent 3.
    assert counts == Counts(granted=40, spent=23, returned=17, entered=1, reapplied=1)
    assert remaining == 77


def test_a_purse_that_is_awaited_says_so(now: ManualClock) -> None:
    async def play() -> None:
        purse = await made(now, kind=AsyncLimiter).open()
        with purse:
            pass

    with pytest.raises(TypeError, match="use async with"):
        asyncio.run(play())


def test_what_cannot_be_given_back_is_lost_and_nobody_fails(
    now: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Gone:
        """A limiter whose store is gone."""

        def refund(self, key: str, cost: int) -> Decision:
            raise StoreUnavailable("gone")

    budget = made(now)
    purse = budget.open()
    budget.limiter = Gone()  # type: ignore[assignment]
    purse.close()

    assert budget.counts == Counts(granted=20, lost=20, entered=1)
    assert "could not be given back: gone" in caplog.text


def test_the_system_tells_the_date_anew() -> None:
    shop, price = (Budget("100/min", grant=20, keys=KEY) for _ in range(2))

    assert price.open(shop.open().lend().text).left == 20


def test_a_child_begins_with_locks_that_nobody_holds(now: ManualClock) -> None:
    budget = made(now)
    with budget.tally._lock, budget._marks._lock:
        child = os.fork()
        if child == 0:
            text = budget.open().lend().text
            os._exit(0 if budget.open(text).left == 20 else 1)
        _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(
    "error",
    [FundsExhausted(Decision(False, 30, 4, 2.0), 5, 4), PurseRefused("replayed")],
)
def test_errors_cross_processes(error: Exception) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(twin), str(twin), twin.args) == (type(error), str(error), error.args)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"grant": 0}, "Budget: grant is 1 or more, not 0"),
        ({"grant": 101}, "Budget: grant is at most 100, as much as the limit holds, not 101"),
        ({"grant": 5, "most": 101}, "Budget: most is at most 100, as much as the limit holds, not"),
        ({"plans": {"a": 0}}, "Budget: plans['a'] is 1 or more, not 0"),
        ({"plans": {"a": 500}}, "Budget: plans['a'] is at most 100, as much as the limit holds"),
        ({"missing": "yes"}, "Budget: missing is \"grant\" or \"refuse\", not 'yes'"),
        ({"stranger": ""}, "Budget: stranger is \"grant\" or \"refuse\", not ''"),
        ({"header": "X-Budget"}, "Budget: header is a name in lower case such as x-headgate-"),
        ({"header": "cookie"}, "Budget: header is a name in lower case such as x-headgate-budget"),
        ({"header": "te"}, "Budget: header is a name in lower case such as x-headgate-budget, not"),
        ({"ttl": 0}, "Budget: ttl is 0.001 or more seconds, not 0"),
        ({"ttl": 3601}, "Budget: ttl is at most 3,600 seconds, not 3601"),
        ({"skew": -1}, "Budget: skew is 0 or more seconds, not -1"),
        ({"memory": 0}, "Budget: memory is 1 or more, not 0"),
        ({"name": ""}, "Budget: name is 1 to 64 plain characters, not ''"),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_kept_are_refused(
    now: ManualClock, terms: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        made(now, **terms)

    assert str(caught.value).startswith(message)


def test_other_things_are_refused(now: ManualClock) -> None:
    with pytest.raises(TypeError, match='limiter is a rate such as "1000/min"'):
        Budget(5, grant=20, keys=KEY)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cost is 0 or more, not -1"):
        made(now).open().spend(-1)
    with pytest.raises(TypeError, match="cost is a whole number"):
        made(now).open().spend(0.5)
    with pytest.raises(ValueError, match="number is 1 or more"):
        made(now).open().split(0)


def test_a_budget_prints_no_secrets(now: ManualClock) -> None:
    budget = made(now)
    purse = budget.open(account="ann")

    assert repr(budget) == "<Budget 'budget': Limiter(TokenBucket(\"100/min\"))>"
    assert repr(purse) == "<Purse: 20 left, 0 spent>"
    assert isinstance(purse, Purse)
    assert "ann" not in purse.lend().text
    assert isinstance(budget.limiter, Limiter)
