"""Leases: what is taken in bulk, what is spent of it without a journey, and what goes back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate import (
    AsyncLimiter,
    CannotFit,
    Decision,
    FixedWindow,
    Limit,
    Limiter,
    ManualClock,
    TokenBucket,
    WarmUp,
)
from headgate.stores.leases import ledger as leasing
from headgate.stores.leases.store import LeasedStore
from headgate.stores.redis.store import RedisStore
from tests.crowd import hasty, others
from tests.faults.caller import COLOURS, Caller
from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.waiting import until

# Nothing of them comes in while a test lasts.
LIMIT = TokenBucket("100 per 1000day")
WIDE = TokenBucket("100000 per 1000day")
AMPLE = 5.0

Hire = Callable[..., Caller]


@pytest.fixture(params=COLOURS)
def hire(request: pytest.FixtureRequest, proxy: Proxy, clock: ManualClock) -> Iterator[Hire]:
    """Makes callers of one colour that lease for a second, behind the proxy, on one clock."""
    callers: list[Caller] = []

    def made(*limits: Limit, **options: Any) -> Caller:
        said = {"url": proxy.url, "budget": AMPLE, "clock": clock, "lease": 1.0, **options}
        callers.append(Caller(request.param, *limits, **said))
        return callers[-1]

    yield made
    for caller in callers:
        caller.close()


@pytest.fixture
def straight(valkey: Server, clock: ManualClock) -> Iterator[Callable[..., Limiter]]:
    """Makes limiters that lease nothing and that nothing stands before."""
    store = RedisStore(valkey.url, AMPLE)
    yield lambda *limits: Limiter(*limits, store=store, clock=clock, when_unavailable="raise")
    store.close()


def spent(limiter: Limiter, key: str = "k") -> int:
    """What the server believes that `key` has spent, be it leased or gone."""
    seen = limiter.peek(key)
    return seen.limit - seen.remaining


def journeys(server: Server) -> int:
    """How many questions the server has been asked; signs of life come when they like."""
    stats = server.info("commandstats")

    def count(word: str) -> int:
        text = stats.get(f"cmdstat_{word}", "calls=0")
        return sum(map(int, re.findall(r"^calls=(\d+)", text))) - sum(
            map(int, re.findall(r"failed_calls=(\d+)", text))
        )

    return count("eval") + count("evalsha") - count("zadd")


def sweep(caller: Caller) -> None:
    """Let what is over go back, as happens twice in a lease's lifetime on the system's clock."""
    limiter: Any = caller.desk.limiter
    ledger = getattr(limiter, "_limiter", limiter).ledger
    caller.desk.do(lambda: ledger.sweep(ledger.clock.now()))


def test_what_is_held_is_spent_without_a_journey(hire: Hire, valkey: Server) -> None:
    caller = hire(WIDE)
    for _ in range(2**8 - 1):
        caller.take()
    held = caller.take().decision.remaining

    before = journeys(valkey)
    calls = [caller.take() for _ in range(2**8 - 1)]

    assert journeys(valkey) == before
    assert [call.decision.remaining for call in calls] == list(range(held - 1, held - 2**8, -1))


def test_a_lease_is_twice_as_large_when_the_last_one_was_gone_quickly(
    hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    taken = []
    before = spent(judge)
    for _ in range(3000):
        caller.take()
        after = spent(judge)
        taken += [after - before] if after > before else []
        before = after

    assert taken == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]


def test_a_lease_is_smaller_when_the_last_one_was_not_used_up(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(2**6):
        caller.take()
    taken = []
    for _ in range(5):
        # Of 64 held, one is spent in a lifetime, then of what was fetched anew.
        clock.advance(1.0)
        sweep(caller)
        before = spent(judge)
        caller.take()
        taken.append(spent(judge) - before)

    assert taken[0] <= 2
    assert taken[1:] == [1] * 4


def test_a_lease_that_lasts_most_of_its_time_is_followed_by_a_smaller_one(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(2**4 - 1):
        caller.take()
    before = spent(judge)
    for _ in range(2**4):
        clock.advance(0.05)
        caller.take()
    sixteen = spent(judge) - before

    caller.take()

    assert (sixteen, spent(judge) - before) == (16, 16 + 8)


def test_a_lease_takes_no_more_than_half_of_what_is_left(
    hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(LIMIT), straight(LIMIT)
    taken = []
    for _ in range(100):
        before = spent(judge)
        caller.take()
        taken += [spent(judge) - before] if spent(judge) > before else []

    # Of the 37 that were left, half, though 64 would have been next.
    assert taken[:7] == [1, 2, 4, 8, 16, 32, 19]


def test_where_little_is_left_a_fair_number_is_waited_for(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    limit = TokenBucket("80/s")
    caller, judge = hire(limit), straight(limit)
    while caller.take().decision:
        pass
    refusal = caller.take().decision
    left = judge.peek("k").remaining

    clock.advance(refusal.retry_after)
    before = spent(judge)
    caller.take()

    # An eighth of the limit, so that not every unit costs a journey.
    assert left < 10
    assert refusal.retry_after == (10 - left) / 80
    assert spent(judge) - before == 10


def test_a_refusal_is_remembered_until_the_moment_it_named(
    hire: Hire, valkey: Server, clock: ManualClock
) -> None:
    caller = hire(TokenBucket("10/s"))
    while caller.take().decision:
        pass
    first = caller.take().decision
    before = journeys(valkey)
    waits = []
    for _ in range(9):
        clock.advance(0.01)
        waits.append(caller.take().decision.retry_after)

    assert journeys(valkey) == before
    assert waits == [pytest.approx(first.retry_after - 0.01 * n) for n in range(1, 10)]
    clock.advance(first.retry_after - 0.09)
    assert caller.take().decision


def test_a_refusal_of_much_does_not_stand_in_the_way_of_little(hire: Hire) -> None:
    caller = hire(TokenBucket("10/s"))
    caller.take("k", 5)

    answers = [bool(caller.take("k", cost).decision) for cost in (10, 6, 1)]

    assert answers == [False, False, True]


def test_what_is_held_and_what_is_left_add_up(hire: Hire) -> None:
    caller = hire(TokenBucket("10 per 1000day"))

    answers = [bool(caller.take("k", cost).decision) for cost in (5, 1, 4, 1)]

    assert answers == [True, True, True, False]


def test_a_refusal_is_forgotten_when_units_are_given_back(hire: Hire) -> None:
    caller = hire(TokenBucket("8 per 1000day"))
    while caller.take().decision:
        pass
    refused = caller.take().decision

    caller.ask("refund", "k", 3)

    assert (bool(refused), bool(caller.take().decision)) == (False, True)


def test_what_is_unspent_when_its_time_is_over_goes_back(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(40):
        caller.take()
    leased_out = spent(judge)

    clock.advance(1.0)
    sweep(caller)

    assert (leased_out, spent(judge)) == (63, 40)


def test_what_is_unspent_goes_back_although_more_was_refused(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    caller, judge = hire(LIMIT), straight(LIMIT)
    for _ in range(20):
        caller.take()
    refused = caller.take(cost=90)
    before = spent(judge)

    clock.advance(1.0)
    sweep(caller)

    assert not refused.decision
    assert before > 20
    assert spent(judge) == 20
    # What was refused as more than was held and left together is not more than what is left now.
    assert not caller.take(cost=90).decision
    assert caller.take(cost=80).decision


def test_what_is_over_is_not_spent_even_if_nobody_sweeps(
    hire: Hire, clock: ManualClock, valkey: Server, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(40):
        caller.take()
    before = journeys(valkey)

    clock.advance(0.999999)
    caller.take()
    held = journeys(valkey) - before
    clock.advance(0.000001)
    caller.take()
    over = journeys(valkey) - before
    caller.close()

    assert (held, over > 0, spent(judge)) == (0, True, 42)


def test_what_goes_back_is_less_what_has_come_in_meanwhile(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock
) -> None:
    # The bucket is full again while units of it are held, and what then comes in is lost. If they
    # went back whole, the key would have more than if they had never been taken.
    limit = TokenBucket("40/s", burst=100)
    caller, judge = hire(limit), straight(limit)
    control = Limiter(limit, clock=clock)
    for _ in range(16):
        caller.take()
        control.take("k")
    clock.advance(0.9)
    for limiter in (judge, control):
        limiter.take("k", limiter.peek("k").remaining)

    clock.advance(0.1)
    sweep(caller)

    assert judge.peek("k").remaining <= control.peek("k").remaining


def test_all_that_is_held_goes_back_when_the_store_is_closed(
    hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for key, count in {"a": 5, "b": 20, "c": 300}.items():
        for _ in range(count):
            caller.take(key)

    caller.close()

    assert [spent(judge, key) for key in "abc"] == [5, 20, 300]


def test_all_that_is_held_goes_back_when_the_program_ends(
    valkey: Server, straight: Callable[..., Limiter]
) -> None:
    code = (
        "import sys; from headgate import Limiter, TokenBucket;"
        "limiter = Limiter(TokenBucket('100000 per 1000day'), store='leased+' + sys.argv[1]);"
        "print(sum(bool(limiter.take('k')) for _ in range(300)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{valkey.url}?budget=20"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == (b"300\n", b"")
    store = RedisStore(valkey.url, AMPLE)
    assert spent(Limiter(WIDE, store=store, when_unavailable="raise")) == 300
    store.close()


def test_what_is_held_too_long_goes_back_by_itself(hire: Hire, valkey: Server) -> None:
    # On the system's clock somebody looks after it, and goes home when nothing is held any longer.
    store = RedisStore(valkey.url, AMPLE)
    judge = Limiter(WIDE, store=store, when_unavailable="raise")
    caller = hire(WIDE, clock=None, lease=0.05)
    for _ in range(40):
        caller.take()

    until(lambda: spent(judge) == 40, "what is unspent to go back")
    until(lambda: caller.desk.tasks() == 0 and not others(), "whoever looked after it to go home")
    store.close()


def test_what_is_fetched_while_others_sweep_is_held(
    hire: Hire, straight: Callable[..., Limiter], clock: ManualClock, proxy: Proxy, valkey: Server
) -> None:
    # A key that nothing was held of for long is forgotten, but not while somebody fetches for it.
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(100):
        caller.take()
    clock.advance(10.0)
    before = journeys(valkey)
    proxy.latency(600)
    fetched = caller.desk.begin("take", "k")
    until(lambda: journeys(valkey) > before, "the lease to be granted")
    sweep(caller)
    proxy.heal()
    assert fetched.result(10).decision
    caller.close()

    assert spent(judge) == 101


def test_a_forked_child_holds_nothing(
    valkey: Server, clock: ManualClock, straight: Callable[..., Limiter]
) -> None:
    store = LeasedStore(RedisStore(valkey.url, AMPLE))
    limiter = Limiter(WIDE, store=store, clock=clock)
    for _ in range(40):
        limiter.take("k")
    before = journeys(valkey)

    child = os.fork()
    if child == 0:
        # What is held is the parent's: the child has to go and get its own.
        os._exit(0 if limiter.take("k") and journeys(valkey) == before + 1 else 1)
    _, status = os.waitpid(child, 0)
    after = [bool(limiter.take("k")) for _ in range(20)]
    counted = journeys(valkey)
    store.close()

    assert (status, counted, after) == (0, before + 1, [True] * 20)
    assert spent(straight(WIDE)) == 61


@pytest.mark.parametrize(("cost", "times"), [(3, 33), (20, 5), (50, 2), (100, 1)])
def test_requests_of_many_units_get_all_there_is(
    cost: int, times: int, hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller = hire(LIMIT)

    answers = [bool(caller.take("k", cost).decision) for _ in range(times + 1)]
    caller.close()

    assert sum(answers) * cost == spent(straight(LIMIT))
    assert sum(answers) >= times - 100 // 8 // cost


def test_a_request_larger_than_any_lease_is_met_at_once(hire: Hire, valkey: Server) -> None:
    caller = hire(WIDE)
    before = journeys(valkey)

    decision = caller.take("k", 5000).decision

    assert (bool(decision), decision.remaining) == (True, 95_000)
    assert journeys(valkey) - before <= 2


def test_a_request_larger_than_the_limit_never_fits(hire: Hire) -> None:
    caller = hire(LIMIT)
    caller.take()

    decision = caller.take("k", 101).decision
    waiting = caller.ask("acquire", "k", 101)

    assert (bool(decision), decision.reason, decision.retry_after) == (False, "never", float("inf"))
    assert isinstance(waiting.problem, CannotFit)


def test_several_limits_are_leased_together(hire: Hire, straight: Callable[..., Limiter]) -> None:
    limits = (TokenBucket("100 per 1000day"), TokenBucket("40 per 500day"))
    caller, judge = hire(*limits), straight(*limits)

    admitted = sum(bool(caller.take().decision) for _ in range(60))
    refusal = caller.take().decision
    caller.close()

    assert admitted >= 40 - 40 // 8
    assert refusal.rule == "40 per 500day"
    assert spent(judge) == admitted


@pytest.mark.parametrize(
    "limit",
    [
        TokenBucket("20/s", penalty=1),
        TokenBucket("20/s", borrow=True),
        WarmUp("20/s", period=2.0),
        TokenBucket("0/s"),
    ],
    ids=repr,
)
def test_what_cannot_be_leased_is_decided_by_the_store(
    limit: Limit, hire: Hire, clock: ManualClock
) -> None:
    caller, control = hire(limit), Limiter(limit, clock=clock)
    answers: list[list[Decision]] = [[], []]
    for wait in (0.0, 0.0, 0.01, 0.2, 0.0, 1.0) * 10:
        clock.advance(wait)
        answers[0].append(caller.take().decision)
        answers[1].append(control.take("k"))

    assert answers[0] == answers[1]


def test_a_key_with_a_limit_of_its_own_calendar_is_leased_like_any_other(hire: Hire) -> None:
    caller = hire(FixedWindow("80 per 30day", calendar="month"))

    admitted = sum(bool(caller.take().decision) for _ in range(100))

    assert 80 - 80 // 8 <= admitted <= 80


def test_a_look_counts_what_is_held_and_changes_nothing(
    hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(LIMIT), straight(LIMIT)
    for _ in range(8):
        caller.take()
    before = spent(judge)

    seen = [caller.ask("peek").decision for _ in range(3)]

    assert [(bool(one), one.remaining) for one in seen] == [(True, 92)] * 3
    assert spent(judge) == before > 8


def test_a_booking_is_paid_out_of_what_is_held_and_goes_back_there(
    hire: Hire, valkey: Server, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(40):
        caller.take()
    before = journeys(valkey)

    reservation = caller.ask("reserve", "k", 3).answer
    caller.desk.do(reservation.cancel)
    travelled = journeys(valkey) - before
    caller.close()

    assert (travelled, spent(judge)) == (0, 40)


def test_a_booking_cancelled_after_its_lease_goes_back_to_the_store(
    hire: Hire, clock: ManualClock, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(40):
        caller.take()
    reservation = caller.ask("reserve", "k", 3).answer

    clock.advance(2.0)
    caller.desk.do(reservation.cancel)
    sweep(caller)

    # Less what has come in meanwhile, for which no unit is whole.
    assert 40 <= spent(judge) <= 41


def test_a_wait_is_booked_with_the_store(hire: Hire, clock: ManualClock) -> None:
    caller = hire(TokenBucket("8/s", burst=8))

    waits = [caller.ask("acquire").answer.waited for _ in range(12)]

    assert waits[-1] > 0
    assert clock.now() >= 400_000


def test_a_key_that_is_forgotten_is_forgotten_here_too(
    hire: Hire, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(LIMIT), straight(LIMIT)
    while caller.take().decision:
        pass

    caller.ask("reset")

    assert spent(judge) == 0
    assert caller.take().decision.remaining == 99


def test_keys_that_are_idle_are_forgotten(hire: Hire, clock: ManualClock) -> None:
    caller = hire(LIMIT)
    for number in range(50):
        caller.take(f"key{number}")

    clock.advance(2.0)
    sweep(caller)
    limiter: Any = caller.desk.limiter

    assert getattr(limiter, "_limiter", limiter).ledger.held == {}


def test_keys_beyond_a_number_are_decided_by_the_store(
    hire: Hire, valkey: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "KEYS", 2)
    caller = hire(WIDE)
    for key in "abc" * 20:
        caller.take(key)

    before = journeys(valkey)
    for key in "aaabbbccc":
        caller.take(key)

    assert journeys(valkey) - before == 3


def test_many_threads_spend_each_unit_once(proxy: Proxy, straight: Callable[..., Limiter]) -> None:
    clock = ManualClock()
    limit = TokenBucket("1000 per 1000day")
    with (
        Caller("sync", limit, url=proxy.url, budget=AMPLE, clock=clock, lease=1.0) as caller,
        hasty(),
    ):
        calls = caller.together(1500)
    admitted = sum(bool(call.decision) for call in calls)

    # Who asks while the last units are on their way to another may be refused; none is lost, none
    # is spent twice.
    assert 0 < admitted <= 1000
    assert spent(straight(limit)) == admitted


def test_what_is_held_is_spent_though_the_store_is_gone(hire: Hire, proxy: Proxy) -> None:
    caller = hire(WIDE)
    for _ in range(40):
        caller.take()
    proxy.refuse()
    proxy.reset()

    calls = [caller.take() for _ in range(30)]
    proxy.heal()

    assert [call.without for call in calls] == [False] * 23 + [True] * 7


def test_what_was_let_in_without_the_store_is_charged_to_it(
    hire: Hire, proxy: Proxy, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE), straight(WIDE)
    for _ in range(40):
        caller.take()
    proxy.refuse()
    proxy.reset()
    caller.desk.tasks()
    for _ in range(30):
        caller.take()
    proxy.heal()

    until(caller.back, "the store to be back")
    admitted = sum(bool(call.decision) for call in caller.history)
    until(lambda: caller.desk.tasks() == 0, "all debts to be paid")
    caller.close()

    until(lambda: spent(judge) == admitted, "what was let in to be charged, and nothing else")


def test_units_that_cannot_go_back_stay_taken(
    hire: Hire, proxy: Proxy, clock: ManualClock, straight: Callable[..., Limiter]
) -> None:
    caller, judge = hire(WIDE, mode="raise"), straight(WIDE)
    for _ in range(40):
        caller.take()
    clock.advance(1.0)
    proxy.refuse()
    proxy.reset()

    sweep(caller)
    call = caller.take()
    proxy.heal()

    assert getattr(call.problem, "kind", "") == "connection"
    assert 40 <= spent(judge) <= 63


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: LeasedStore("redis://here"), "LeasedStore stands in front of a RedisStore, not "),
        (
            lambda: LeasedStore(store(), ttl=0),
            "LeasedStore: ttl is from 0.001 to 60 seconds, not 0",
        ),
        (
            lambda: LeasedStore(store(), ttl=1e-7),
            "LeasedStore: ttl is from 0.001 to 60 seconds, not 1",
        ),
        (
            lambda: LeasedStore(store(), ttl=61),
            "LeasedStore: ttl is from 0.001 to 60 seconds, not 61",
        ),
        (
            lambda: LeasedStore(store(), ttl=True),
            "LeasedStore: ttl is from 0.001 to 60 seconds, not T",
        ),
        (
            lambda: LeasedStore(store(), ttl=float("nan")),
            "LeasedStore: ttl is from 0.001 to 60 seco",
        ),
        (lambda: LeasedStore(store(), most=0), "LeasedStore: most is a whole number of units, not"),
        (
            lambda: LeasedStore(store(), most="1"),  # type: ignore[arg-type]
            "LeasedStore: most is a whole number of units, ",
        ),
    ],
)
def test_what_is_said_wrongly_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        make()

    assert str(raised.value).startswith(problem)


def store() -> Any:
    return RedisStore("redis://127.0.0.1:1")


def test_a_leased_store_prints_as_it_is_typed() -> None:
    assert repr(LeasedStore(store(), ttl=0.5, most=10)) == (
        "LeasedStore(RedisStore('redis://127.0.0.1:1'), ttl=0.5, most=10)"
    )


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_leases_are_had_by_url(kind: type, valkey: Server) -> None:
    limiter = kind("10/s", store=f"leased+{valkey.url}")

    assert isinstance(getattr(limiter, "_limiter", limiter).store, LeasedStore)
