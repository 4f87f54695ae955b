"""The service is the bucket of all the others: what they grant, and grant again, is asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from headgate import AsyncLimiter, Budget, FundsExhausted, Limiter, PurseRefused, StoreUnavailable
from headgate.budgets.counts import Counts
from headgate.rules import Rules
from headgate.rules.live.treasury import opened
from tests.budget.kit import KEY
from tests.service.resp.staging import RespServiceHost as Stage


@pytest.fixture
def service() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def made(service: Stage, kind: Any = Limiter, **terms: Any) -> Budget:
    limiter = kind("60/min", store=service.url, name="shop", when_unavailable="raise")
    return Budget(limiter, **({"grant": 20, "keys": KEY} | terms))


def test_whoever_goes_short_asks_the_service_once(service: Stage) -> None:
    shop, price = made(service), made(service)
    with shop.open(account="ann") as purse:
        loan = purse.lend()
        called = price.open(loan.text)
        called.spend(25)
        answer = called.answer()
        called.close()
        settled = loan.settle(answer)
        held = purse.left

    assert (settled, held) == (True, 15)
    assert shop.counts == Counts(granted=20, returned=15, entered=1)
    assert price.counts == Counts(granted=20, spent=25, reapplied=1)
    assert shop.peek("ann").remaining == 35


def test_it_says_no_midway_and_awaited(service: Stage) -> None:
    async def play() -> tuple[Counts, int]:
        budget = made(service, AsyncLimiter)
        async with await budget.open(account="ann") as purse:
            await purse.spend(30)
            with pytest.raises(FundsExhausted):
                await purse.spend(50)
        return budget.counts, (await budget.peek("ann")).remaining

    counts, remaining = asyncio.run(play())

    assert counts == Counts(
        granted=40, spent=30, returned=10, entered=1, reapplied=2, exhausted_midway=1, broken=1
    )
    assert remaining == 30


def test_a_copy_counts_once_wherever_it_is_shown(service: Stage) -> None:
    one, two = (made(service, once=service.url) for _ in range(2))
    text = one.open().lend().text

    assert two.open(text).left == 20
    with pytest.raises(PurseRefused, match="replayed"):
        one.open(text)


def test_rules_may_have_their_budget_there(service: Stage) -> None:
    rules = Rules(budget={"limit": "60/min", "grant": 20, "keys": KEY})
    shop, price = (opened(rules, service.url, Limiter) for _ in range(2))
    called = price.open(shop.open(account="ann").lend().text)
    called.spend(30)
    called.close()

    # Another 20 were granted there, and half of them went back.
    assert shop.peek("ann").remaining == 30


def test_what_was_granted_is_good_although_it_is_gone(service: Stage) -> None:
    shop, price = made(service), made(service)
    called = price.open(shop.open(account="ann").lend().text)
    service.close()
    called.spend(15)
    with pytest.raises(StoreUnavailable):
        called.spend(15)

    assert (called.left, called.spent) == (5, 15)
