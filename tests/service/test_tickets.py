"""Tickets: what is booked is kept or given back, once, at whichever worker."""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any

import pytest

from headgate import Decision, LimitError, ManualClock, StoreUnavailable
from headgate.rules import Rule, Rules
from headgate.service.stamp import BadTicket, Stamp
from headgate.service.teller import Unknown
from tests.service.counters import SECRET, Counter, Town
from tests.stores.crew import Crew

TOKENS = Rule("tokens", key="user", limit="10/min")


def near(*rules: Rule, **more: Any) -> Counter:
    """A counter whose store is in memory."""
    return Counter([*rules], "memory://", ManualClock(1000.0), **more)


def why(problem: Any) -> str:
    """The reason that was given."""
    return str(problem.value.reason)


def test_what_is_booked_is_given_back_once(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            ticket = await at.ask("reserve", "tokens", "a", 4)
            assert ticket.decision == Decision(True, 10, 6, 0.0, 24.0, "tokens")
            assert (ticket.wait, bool(ticket)) == (0.0, True)
            assert (await at.ask("cancel", ticket.id)).remaining == 10
            with pytest.raises(BadTicket) as problem:
                await at.ask("cancel", ticket.id)
            assert why(problem) == "used"
            with pytest.raises(BadTicket):
                await at.ask("commit", ticket.id)
            assert (await at.ask("peek", "tokens", "a", 0)).remaining == 10

    town.play(scene)


def test_what_is_committed_stays_spent(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            ticket = await at.ask("reserve", "tokens", "a", 4)
            assert (await at.ask("commit", ticket.id)).remaining == 6
            with pytest.raises(BadTicket):
                await at.ask("cancel", ticket.id)
            assert (await at.ask("peek", "tokens", "a", 0)).remaining == 6

    town.play(scene)


def test_what_it_really_cost_is_settled(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            less = await at.ask("reserve", "tokens", "a", 6)
            assert (await at.ask("commit", less.id, 2)).remaining == 8
            more = await at.ask("reserve", "tokens", "a", 2)
            owing = await at.ask("commit", more.id, 12)
            assert (owing.allowed, owing.retry_after) == (False, 24.0)

    town.play(scene)


def test_what_was_booked_for_nothing_costs_what_it_really_did(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            kept, paid, left = [await at.ask("reserve", "tokens", "a", 0) for _ in range(3)]
            assert (await at.ask("commit", kept.id)).remaining == 10
            assert (await at.ask("commit", paid.id, 4)).remaining == 6
            assert (await at.ask("cancel", left.id)).remaining == 6
            with pytest.raises(BadTicket):
                await at.ask("commit", paid.id, 4)

    town.play(scene)


def test_an_id_is_good_whatever_plan_was_said() -> None:
    async def scene() -> None:
        async with near(TOKENS) as at:
            ticket = await at.ask("reserve", "tokens", "a", 4, 0.0, "none" * 1000)
            assert (await at.ask("cancel", ticket.id)).remaining == 10

    asyncio.run(scene())


def test_what_was_not_needed_is_refunded_though_time_has_passed(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            await at.take("tokens", "a", 2)
            first = await at.ask("reserve", "tokens", "a", 4)
            second = await at.ask("reserve", "tokens", "a", 4)
            town.clock.advance(12.0)
            assert (await at.ask("commit", first.id, 1)).remaining == 5
            assert (await at.ask("cancel", second.id)).remaining == 7

    town.play(scene)


def test_a_booking_may_lie_ahead_and_what_others_count_on_stays(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            await at.take("tokens", "a", 10)
            first = await at.ask("reserve", "tokens", "a", 2, 60.0)
            assert first.wait == 12.0
            second = await at.ask("reserve", "tokens", "a", 2, 60.0)
            assert second.wait == 24.0
            late = await at.ask("reserve", "tokens", "a", 2, 30.0)
            assert (late.id, late.wait, late.decision.reason) == ("", inf, "limit")
            await at.ask("cancel", first.id)
            third = await at.ask("reserve", "tokens", "a", 2, 60.0)
            assert third.wait == 36.0
            await at.ask("cancel", third.id)
            again = await at.ask("reserve", "tokens", "a", 2, 60.0)
            assert again.wait == 36.0

    town.play(scene)


def test_an_id_is_good_for_a_while(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as at:
            kept = await at.ask("reserve", "tokens", "a", 1)
            late = await at.ask("reserve", "tokens", "a", 1)
            town.clock.advance(600.0)
            await at.ask("cancel", kept.id)
            town.clock.advance(0.001)
            with pytest.raises(BadTicket) as problem:
                await at.ask("cancel", late.id)
            assert why(problem) == "expired"

    town.play(scene)


def test_no_worker_needs_to_know_of_another(fleet: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(TOKENS) as one, town.open(TOKENS) as two:
            ticket = await one.ask("reserve", "tokens", "a", 4)
            assert two.teller.tickets.rule(ticket.id) == "tokens"
            assert (await two.ask("cancel", ticket.id)).remaining == 10
            with pytest.raises(BadTicket):
                await one.ask("cancel", ticket.id)

    fleet.play(scene)


def test_of_workers_that_cancel_at_once_one_does(fleet: Town, clerks: Crew) -> None:
    rules = [{"name": "tokens", "key": "user", "limit": "1000/30d"}]
    clerks.ask("open", url=fleet.url, rules=rules)
    first, _ = clerks.hands
    ids = []
    for _ in range(60):
        clerks.tell(first, "reserve", key="a")
        ids.append(clerks.hear(first))
    done = clerks.ask("cancel", ids=ids)
    assert sorted([*done[0], *done[1]]) == sorted(ids)
    clerks.tell(first, "left", key="a")
    # What has come in since a booking was due is not given back.
    assert clerks.hear(first) >= 999


FORGED = ["", "x", "a" * 50, "é", "a b", "%%%", "A" * 5000, "====", "\0"]


@pytest.mark.parametrize("word", FORGED)
def test_what_is_not_ours_is_nothing(word: str) -> None:
    teller = near(TOKENS).teller
    for verb in (teller.commit, teller.cancel, teller.renew, teller.release):
        with pytest.raises(BadTicket) as problem:
            verb(word)
        assert why(problem) == "forged"


def test_no_letter_of_an_id_can_be_changed() -> None:
    teller = near(TOKENS).teller
    ticket = teller.reserve("tokens", "a", 4)
    stamp = ticket.id
    for place, letter in enumerate(stamp):
        for other in ("A", "b", "_", letter + "=", ""):
            if other == letter:
                continue
            with pytest.raises(BadTicket):
                teller.cancel(stamp[:place] + other + stamp[place + 1 :])
    teller.cancel(stamp)


def test_an_id_counts_for_what_it_was_given_for_and_by_its_own_secret() -> None:
    at = near(TOKENS, Rule("desk", key="user", concurrent=2))
    ticket, hold = at.teller.reserve("tokens", "a"), at.teller.hold("desk", "a")
    with pytest.raises(BadTicket):
        at.teller.release(ticket.id)
    with pytest.raises(BadTicket):
        at.teller.cancel(hold.id)
    at.teller.change("another secret than before", 10)
    with pytest.raises(BadTicket):
        at.teller.cancel(ticket.id)


def test_a_stamp_is_read_as_it_was_signed() -> None:
    stamp = Stamp(lambda: SECRET)
    assert stamp.read("k", stamp.sign("k", "ä\ud800", 5, "")) == ["ä\ud800", 5, ""]


def test_who_is_not_counted_has_nothing_to_give_back() -> None:
    at = near(
        Rule("tokens", key="user", limit="1/min", overrides={"vip": "unlimited"}),
        Rule("try", key="user", limit="1/min", mode="shadow"),
    )
    for rule, key in (("tokens", "vip"), ("try", "a"), ("try", "a")):
        ticket: Any = at.teller.reserve(rule, key, 1, 0.0)
        assert ticket
        assert at.teller.cancel(ticket.id)
        with pytest.raises(BadTicket):
            at.teller.cancel(ticket.id)
    keyless: Any = at.teller.reserve("tokens", "")
    assert (bool(keyless), keyless.id, keyless.decision.reason) == (False, "", "never")


def test_a_rule_that_has_gone_is_said_to_have() -> None:
    at = near(TOKENS)
    ticket: Any = at.teller.reserve("tokens", "a")
    at.keeper.change(Rules([Rule("other", limit="1/s")]))
    with pytest.raises(Unknown):
        at.teller.cancel(ticket.id)


def test_ids_that_are_done_with_stay_so_when_rules_change() -> None:
    at = near(TOKENS)
    ticket: Any = at.teller.reserve("tokens", "a")
    at.teller.cancel(ticket.id)
    at.keeper.change(Rules([TOKENS, Rule("other", limit="1/s")]))
    with pytest.raises(BadTicket):
        at.teller.cancel(ticket.id)


def test_a_cost_that_is_none_is_refused_before_anything_is_done() -> None:
    at = near(TOKENS)
    ticket: Any = at.teller.reserve("tokens", "a", 2)
    with pytest.raises(ValueError, match="cost is 0 or more"):
        at.teller.commit(ticket.id, -1)
    with pytest.raises(LimitError):
        at.teller.debit("tokens", "a", 1 << 49)
    assert not at.teller.commit(ticket.id, 1 << 49)


def test_where_the_store_is_gone_nothing_is_given_back() -> None:
    async def scene() -> None:
        rule = Rule("tokens", key="user", limit="9/min")
        async with Counter([rule], "redis://127.0.0.1:1", ManualClock(1000.0)) as at:
            ticket = await at.ask("reserve", "tokens", "a")
            assert ticket.decision.degraded
            with pytest.raises(StoreUnavailable):
                await at.ask("cancel", ticket.id)

    asyncio.run(scene())
