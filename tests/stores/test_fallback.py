"""Without the store: who decides then and how, and what is made good when it is back."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headgate
from headgate import (
    AsyncLimiter,
    Decision,
    Limit,
    Limiter,
    LimitExceeded,
    ManualClock,
    StoreUnavailable,
    TokenBucket,
)
from headgate.measures import FOREVER
from headgate.stores import fallback
from headgate.stores.flat.table import Table
from headgate.stores.redis.store import RedisStore
from headgate.stores.watch import Watch
from tests.crowd import hasty, others
from tests.faults.caller import COLOURS, Caller
from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.waiting import until

LIMIT = TokenBucket("10 per 1000day")
WIDE = TokenBucket("1000 per 1000day")
DAY = 86_400.0
# Budget enough for any machine: what fails here fails at once.
AMPLE = 5.0
INSTANCES = "headgate:1:{instances}"

Hire = Callable[..., Caller]


@pytest.fixture(params=COLOURS)
def hire(request: pytest.FixtureRequest, proxy: Proxy, clock: ManualClock) -> Iterator[Hire]:
    """Makes callers of one colour behind the proxy, all of them on one clock."""
    callers: list[Caller] = []

    def made(*limits: Limit, **options: Any) -> Caller:
        said = {"url": proxy.url, "budget": AMPLE, "clock": clock, **options}
        callers.append(Caller(request.param, *limits, **said))
        return callers[-1]

    yield made
    for caller in callers:
        caller.close()


@pytest.fixture
def straight(valkey: Server, clock: ManualClock) -> Iterator[Callable[..., int]]:
    """What the server itself believes that a key has spent."""
    store = RedisStore(valkey.url, AMPLE)

    def spent(limit: Limit, key: str = "k", name: str = "") -> int:
        judge = Limiter(limit, store=store, clock=clock, name=name, when_unavailable="raise")
        seen = judge.peek(key)
        return seen.limit - seen.remaining

    yield spent
    store.close()


def settled(caller: Caller) -> None:
    """Let the store be found again, and what is owed be charged."""
    until(lambda: caller.back("probe"), "the store to be back")
    until(lambda: idle(caller), "all debts to be paid")


def idle(caller: Caller | None = None) -> bool:
    """Whether nothing is done beside the calls, by a task of the caller's or by any thread."""
    return not others() and (caller is None or caller.desk.tasks() == 0)


def leave(proxy: Proxy, caller: Caller) -> None:
    """Be gone, so that nobody can have been heard: no connection stands, and none can be made."""
    until(lambda: idle(caller), "nobody to be speaking")
    proxy.refuse()
    proxy.reset()
    # A loop takes a turn to notice that its line is gone.
    caller.desk.tasks()


def outage(caller: Caller, proxy: Proxy, *verbs: str) -> list[Any]:
    """What is answered to some verbs while nobody is there."""
    leave(proxy, caller)
    answers = [caller.ask(verb).answer for verb in verbs]
    proxy.heal()
    return answers


def test_what_is_allowed_without_the_store_says_so(hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT, mode="allow")

    answers = outage(caller, proxy, *["take"] * 12)

    assert answers == [Decision(True, 10, 10, rule="10 per 1000day", degraded=True)] * 12


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, nobody can look on")
def test_a_share_decides_without_counting_its_keys(
    hire: Hire, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Table] = []
    monkeypatch.setattr(Table, "__len__", lambda table: counted.append(table) or 0)
    caller = hire(LIMIT)

    answers = outage(caller, proxy, *["take"] * 12)

    # It takes as long as there are keys, and a table without any would pass for none.
    assert counted == []
    assert [bool(answer) for answer in answers] == [True] * 10 + [False] * 2


def test_what_is_denied_without_the_store_says_so(hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT, mode="deny")

    answers = outage(caller, proxy, "take", "take", "peek")

    no = Decision(False, 10, 0, 0.5, 0.5, "10 per 1000day", True, "unavailable")
    assert answers == [no] * 3


def test_what_is_decided_here_without_the_store_says_so(hire: Hire, proxy: Proxy) -> None:
    caller = hire(TokenBucket("2 per 100s"))

    answers = outage(caller, proxy, *["take"] * 3)

    rule = "2 per 100s"
    assert answers == [
        Decision(True, 2, 1, 0.0, 50.0, rule, degraded=True),
        Decision(True, 2, 0, 0.0, 100.0, rule, degraded=True),
        Decision(False, 2, 0, 50.0, 100.0, rule, degraded=True),
    ]


def test_who_wants_to_know_is_told_that_there_is_no_store(hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT, mode="raise")
    leave(proxy, caller)

    calls = [caller.ask(verb) for verb in ("take", "peek", "debit", "refund", "reserve", "acquire")]

    assert [getattr(call.problem, "kind", "") for call in calls] == ["connection"] * 6


@pytest.mark.parametrize("mode", ["local", "allow", "deny", "raise"])
def test_a_key_cannot_be_forgotten_without_the_store(mode: str, hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT, mode=mode)
    caller.take()
    leave(proxy, caller)

    call = caller.ask("reset")

    assert isinstance(call.problem, StoreUnavailable)


def test_a_peek_without_the_store_spends_nothing(hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT)

    answers = outage(caller, proxy, *["peek"] * 5, "take")

    assert [answer.remaining for answer in answers] == [10] * 5 + [9]


def test_many_keys_are_decided_one_by_one_without_the_store(hire: Hire, proxy: Proxy) -> None:
    caller = hire(TokenBucket("2 per 1000day"))
    leave(proxy, caller)

    call = caller.many(["a", "b", "a", "a"])

    assert [bool(decision) for decision in call.answer] == [True, True, True, False]
    assert {decision.degraded for decision in call.answer} == {True}


def test_the_share_of_a_process_is_what_is_left_by_all_it_knows(
    hire: Hire, proxy: Proxy, valkey: Server
) -> None:
    seconds, micros = map(int, valkey.ask("TIME"))
    for number in range(3):
        valkey.ask("ZADD", INSTANCES, seconds * 1_000_000 + micros, f"other{number}")
    caller = hire(TokenBucket("20 per 1000day"))
    caller.take()
    until(lambda: caller.desk.store.watch.instances == 4, "the others to be known")

    answers = outage(caller, proxy, *["take"] * 10)

    assert sum(map(bool, answers)) == 5


def test_all_who_gave_a_sign_of_life_lately_are_counted(hire: Hire, clock: ManualClock) -> None:
    callers = [hire(LIMIT) for _ in range(3)]
    for caller in callers:
        caller.take()
    until(lambda: all(map(idle, callers)), "three signs of life")

    clock.advance(5.0)
    for caller in callers:
        caller.take()

    until(lambda: [c.desk.store.watch.instances for c in callers] == [3] * 3, "all to know of all")


def test_who_has_been_silent_for_fifteen_seconds_is_not_counted(hire: Hire, valkey: Server) -> None:
    now = int(valkey.ask("TIME")[0])
    for ago in (5, 10, 20, 3600):
        valkey.ask("ZADD", INSTANCES, (now - ago) * 1_000_000, f"silent for {ago}")
    caller = hire(LIMIT)

    caller.take()
    until(lambda: caller.desk.store.watch.instances > 1, "the others to be known")

    left = [name for name in valkey.ask("ZRANGE", INSTANCES, 0, -1) if "silent" in name]
    assert left == ["silent for 10", "silent for 5"]
    assert caller.desk.store.watch.instances == 3


def test_signs_of_life_do_not_outlive_those_who_gave_them(hire: Hire, valkey: Server) -> None:
    hire(LIMIT).take()

    until(lambda: valkey.ask("EXISTS", INSTANCES), "the sign of life")

    assert 0 < valkey.ask("PTTL", INSTANCES) <= 60_000


def test_other_processes_are_counted(hire: Hire, valkey: Server) -> None:
    beat = (
        "import sys; from headgate.stores.redis.store import RedisStore;"
        "RedisStore(sys.argv[1], 5).beat()"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", beat, valkey.url], check=True, timeout=60)
    caller = hire(LIMIT)

    caller.take()

    until(lambda: caller.desk.store.watch.instances == 3, "both to be known")


def test_a_dead_store_is_left_alone_but_for_one_attempt_every_half_second(
    hire: Hire, proxy: Proxy, clock: ManualClock
) -> None:
    caller = hire(LIMIT)
    caller.take()
    until(lambda: idle(caller), "nobody to be speaking")
    proxy.reject()
    caller.desk.tasks()
    attempts = []
    for advance in (0.0, 0.0, 0.0, 0.0, 0.499999, 0.000001, 0.0, 0.25, 0.25, 10.0, 0.0):
        clock.advance(advance)
        before = proxy.total
        caller.take()
        attempts.append(proxy.total - before)

    assert attempts == [1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0]


def test_limiters_on_one_store_share_what_they_know_of_it(proxy: Proxy, clock: ManualClock) -> None:
    store = RedisStore(proxy.url, AMPLE)
    one, two = (Limiter(LIMIT, store=store, name=name, clock=clock) for name in ("one", "two"))
    proxy.reject()
    for _ in range(3):
        one.take()
    before = proxy.total

    two.take()

    assert proxy.total == before


def test_an_outage_and_its_end_are_logged_once_each_and_without_secrets(
    hire: Hire, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "headgate"):
        caller = hire(LIMIT, url=f"redis://:sesame@127.0.0.1:{proxy.port}")
        leave(proxy, caller)
        for _ in range(20):
            caller.back()

    where = f"redis://127.0.0.1:{proxy.port} is unavailable, deciding without it: "
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(where)
    assert "sesame" not in caplog.text


def test_the_end_of_an_outage_is_logged_once(
    hire: Hire, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caller = hire(LIMIT)
    outage(caller, proxy, *["take"] * 5)
    caplog.clear()

    with caplog.at_level(logging.INFO, "headgate"):
        for _ in range(5):
            caller.back("probe")

    assert caplog.messages == [f"redis://127.0.0.1:{proxy.port} is available again"]


def test_what_was_let_in_without_the_store_is_charged_to_it(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(WIDE)
    caller.take("a")
    leave(proxy, caller)
    for key, units in {"a": 3, "b": 7, "c": 1}.items():
        for _ in range(units):
            caller.take(key)
    caller.take("c", 5)
    proxy.heal()

    settled(caller)

    assert [straight(WIDE, key) for key in "abc"] == [4, 7, 6]


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
def test_what_was_let_in_is_charged_however_short_the_outage(
    failures: int, hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(WIDE)
    caller.take()

    outage(caller, proxy, *["take"] * failures)
    settled(caller)

    assert straight(WIDE) == 1 + failures


def test_every_limiter_on_a_store_makes_good_what_it_let_in(
    proxy: Proxy, clock: ManualClock, straight: Callable[..., int]
) -> None:
    store = RedisStore(proxy.url, AMPLE)
    names = ("one", "two", "three")
    limiters = [Limiter(WIDE, store=store, name=name, clock=clock) for name in names]
    proxy.refuse()
    for limiter in limiters * 5:
        limiter.take("k")
    proxy.heal()
    clock.advance(0.5)

    for limiter in limiters:
        limiter.take("k")
    until(idle, "all debts to be paid")
    spent = [straight(WIDE, name=name) for name in names]
    store.close()

    assert spent == [6, 6, 6]


def test_what_was_refused_without_the_store_is_not_charged(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT)

    answers = outage(caller, proxy, *["take"] * 15)
    settled(caller)

    assert sum(map(bool, answers)) == 10
    assert straight(LIMIT) == 10


@pytest.mark.parametrize(("mode", "charged"), [("allow", 10), ("deny", 0)])
def test_what_all_or_nothing_let_in_is_charged_up_to_the_limit(
    mode: str, charged: int, hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT, mode=mode)

    outage(caller, proxy, *["take"] * 25)
    settled(caller)

    assert straight(LIMIT) == charged


def test_what_time_has_forgiven_is_not_charged(
    hire: Hire, proxy: Proxy, clock: ManualClock, straight: Callable[..., int]
) -> None:
    limit = TokenBucket("10/s")
    caller = hire(limit)
    outage(caller, proxy, *["take"] * 8)

    clock.advance(0.1)
    settled(caller)

    assert straight(limit) == 8 - 6


def test_a_store_that_comes_and_goes_is_no_way_around_the_limit(hire: Hire, proxy: Proxy) -> None:
    # What gets lost may have been counted or not, so it is not charged; but it was let in here.
    caller = hire(LIMIT, budget=0.02)
    until(lambda: caller.back("k"), "the store to be known")
    lost = []
    for _ in range(25):
        proxy.blackhole()
        lost.append(caller.take())
        proxy.heal()
        until(lambda: caller.back("probe"), "the store to be back")

    assert sum(bool(call.decision) for call in lost if call.without) <= 10


def test_many_threads_are_charged_for_every_unit(
    proxy: Proxy, clock: ManualClock, straight: Callable[..., int]
) -> None:
    with Caller("sync", WIDE, url=proxy.url, budget=AMPLE, clock=clock) as caller:
        leave(proxy, caller)
        with hasty():
            caller.together(800)
        proxy.heal()
        settled(caller)

    assert straight(WIDE) == 800


def test_a_debt_whose_payment_is_not_confirmed_is_not_paid_twice(
    hire: Hire, proxy: Proxy, clock: ManualClock, straight: Callable[..., int]
) -> None:
    caller = hire(WIDE)
    caller.take("probe")
    caller.ask("peek", "probe")
    outage(caller, proxy, *["take"] * 5)
    clock.advance(0.5)

    # The answer to a take is 40 bytes long, and that to a payment longer.
    proxy.cut(40)
    caller.take("probe")
    until(lambda: idle(caller), "the payment to be made")
    proxy.heal()
    settled(caller)

    assert straight(WIDE) <= 5


class Gone:
    """A ledger that cannot be asked."""

    limits = (LIMIT,)

    def charge(self, *_: object) -> None:
        raise StoreUnavailable("gone", unknown=False)

    take = charge


def test_what_strangers_make_up_is_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fallback, "CAPACITY", 100)
    ledger = fallback.Fallback(Gone(), Watch("gone"), None, "allow", False)
    for number in range(150):
        ledger.charge(f"k{number}", 1, number, FOREVER)
        ledger.take(f"l{number}", 1, number, 0)
    # Who is known already owes more, or less.
    ledger.take("l0", 2, 200, 0)
    ledger.charge("l0", -1, 201, FOREVER)

    assert (len(ledger._debits), len(ledger._owed)) == (100, 100)
    assert ({*ledger._debits.values()}, ledger._owed["l0"]) == ({1}, 2)


def test_a_refund_without_the_store_is_taken_off_what_is_owed(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(WIDE)
    leave(proxy, caller)
    caller.take("k", 5)
    caller.ask("refund", "k", 2)
    proxy.heal()

    settled(caller)

    assert straight(WIDE) == 3


@pytest.mark.parametrize("mode", ["local", "allow"])
def test_a_debit_without_the_store_is_charged_whatever_was_left(
    mode: str, hire: Hire, proxy: Proxy
) -> None:
    # It says what has happened already: nobody can refuse that.
    caller = hire(LIMIT, mode=mode)
    leave(proxy, caller)
    caller.ask("debit", "k", 8)
    caller.ask("debit", "k", 7)
    proxy.heal()

    settled(caller)
    seen = caller.ask("peek").decision

    # Five below nothing, and a hundred days for each unit.
    assert (bool(seen), seen.retry_after) == (False, 6 * 100 * DAY)


def test_a_booking_made_and_cancelled_without_the_store_leaves_no_trace(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT)
    leave(proxy, caller)
    reservation = caller.ask("reserve", "k", 4).answer
    cancel(caller, reservation)
    left = caller.ask("peek").decision.remaining
    proxy.heal()

    settled(caller)

    assert (left, straight(LIMIT)) == (10, 0)


def test_a_booking_made_without_the_store_is_cancelled_when_it_is_back(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT)
    leave(proxy, caller)
    reservation = caller.ask("reserve", "k", 4).answer
    proxy.heal()
    settled(caller)
    charged = straight(LIMIT)

    cancel(caller, reservation)

    # Less what has come in since: a millionth of a unit, for which one is not whole.
    assert (charged, straight(LIMIT)) == (4, 1)


def test_a_booking_made_with_the_store_and_cancelled_without_it_stays(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT)
    reservation = caller.ask("reserve", "k", 4).answer
    leave(proxy, caller)
    cancel(caller, reservation)
    proxy.heal()

    settled(caller)

    assert straight(LIMIT) == 4


def test_a_booking_outlives_an_outage_and_can_be_cancelled_after_it(
    hire: Hire, proxy: Proxy, straight: Callable[..., int]
) -> None:
    caller = hire(LIMIT)
    reservation = caller.ask("reserve", "k", 4).answer
    outage(caller, proxy, "take", "take", "take")
    settled(caller)

    cancel(caller, reservation)

    assert straight(LIMIT) == 3


def test_a_wait_goes_by_the_share_without_the_store(
    hire: Hire, proxy: Proxy, clock: ManualClock
) -> None:
    caller = hire(TokenBucket("1/s", burst=1))

    answers = outage(caller, proxy, *["acquire"] * 3)

    assert [permit.waited for permit in answers] == [0.0, 1.0, 1.0]
    assert clock.now() == 2_000_000


def test_a_wait_is_refused_at_once_where_all_is_denied(hire: Hire, proxy: Proxy) -> None:
    caller = hire(LIMIT, mode="deny")
    leave(proxy, caller)

    call = caller.ask("acquire")

    assert isinstance(call.problem, LimitExceeded)
    assert call.problem.decision.reason == "unavailable"


def test_several_limits_have_a_share_each(hire: Hire, proxy: Proxy) -> None:
    caller = hire(TokenBucket("3 per 1000day"), TokenBucket("5 per 1000day"))

    answers = outage(caller, proxy, *["take"] * 5)

    assert [(bool(answer), answer.rule) for answer in answers] == [
        *[(True, "3 per 1000day")] * 3,
        *[(False, "3 per 1000day")] * 2,
    ]


def test_an_async_limiter_that_ends_in_an_outage_leaves_nothing_behind(proxy: Proxy) -> None:
    async def main() -> list[bool]:
        limiter = AsyncLimiter(LIMIT, store=proxy.url)
        await limiter.take()
        proxy.reject()
        return [(await limiter.take()).degraded for _ in range(5)]

    degraded = asyncio.run(main())

    assert degraded == [True] * 5
    until(lambda: proxy.open == 0, "the line to be hung up")


def cancel(caller: Caller, reservation: Any) -> None:
    """Cancel a reservation in the caller's colour, and fail if that fails."""
    caller.desk.do(reservation.cancel)
