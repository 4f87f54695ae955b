"""Replies that are cut, doubled, swapped or damaged: no call is charged twice, none gets another's.

The clock stands still and the limit is far away, so the server's own count says what was charged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate import Limiter, ManualClock, TokenBucket
from headgate.stores.redis.store import RedisStore
from tests.faults.caller import COLOURS, MODES, Caller
from tests.faults.scenes import AMPLE, Bench
from tests.servers.waiting import until

LIMIT = TokenBucket("1000 per 1000day")
# The bytes of an answer to `take`: "$33", the nonce, a byte and three numbers, and line ends.
REPLY = 5 + 8 + 1 + 3 * 8 + 2


def judge(bench: Bench, clock: ManualClock) -> Limiter:
    """A limiter that nothing stands between."""
    return Limiter(
        LIMIT, store=RedisStore(bench.server.url, AMPLE), clock=clock, when_unavailable="raise"
    )


def spent(limiter: Limiter, key: str = "k") -> int:
    """What the server believes that `key` has spent."""
    seen = limiter.peek(key)
    return seen.limit - seen.remaining


def settled(caller: Caller) -> None:
    """Wait until the store answers again, and what is owed to it has been charged."""
    until(lambda: caller.back("probe"), "the store to be back")
    until(lambda: caller.desk.tasks() == 0, "tasks to be done")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("colour", COLOURS)
def test_a_take_whose_reply_is_cut_at_any_byte_is_charged_once_at_most(
    colour: str, mode: str, bench: Bench, hire: Callable[..., Caller], scale: int
) -> None:
    # A cut takes the proxy 40 ms, since it waits until the client's machine has the rest.
    sizes = range(0, REPLY + 1, 1 if mode == "local" or scale > 1 else 5)
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, mode=mode, budget=AMPLE, clock=clock)
    straight = judge(bench, clock)
    caller.take("probe")
    charged = []
    for size in sizes:
        # The line stands before it is cut, or the reply to the password would be.
        bench.proxy.heal()
        caller.back("probe")
        before = spent(straight)
        bench.proxy.cut(size)
        caller.take()
        charged.append(spent(straight) - before)
    bench.proxy.heal()
    settled(caller)

    assert set(charged) <= {0, 1}
    assert spent(straight) <= len(sizes)


@pytest.mark.parametrize("colour", COLOURS)
def test_what_was_answered_in_full_is_not_lost_though_the_line_breaks_behind_it(
    colour: str, bench: Bench, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=bench.url, mode="raise", budget=AMPLE, clock=ManualClock())
    caller.take()

    bench.proxy.cut(REPLY)
    call = caller.take()

    assert (bool(call.decision), call.decision.remaining) == (True, 998)


@pytest.mark.parametrize("verb", ["take_many", "reserve", "debit", "peek"])
@pytest.mark.parametrize("colour", COLOURS)
def test_other_verbs_are_charged_once_at_most_wherever_their_replies_are_cut(
    colour: str, verb: str, bench: Bench, hire: Callable[..., Caller]
) -> None:
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, budget=AMPLE, clock=clock)
    straight = judge(bench, clock)
    said: Any = ["k", "k"] if verb == "take_many" else "k"
    caller.ask(verb, said)
    before, calls = spent(straight), 0
    for size in range(0, 200, 7):
        bench.proxy.heal()
        caller.back("probe")
        bench.proxy.cut(size)
        caller.ask(verb, said)
        calls += 1
    bench.proxy.heal()
    settled(caller)

    units = {"take_many": 2, "peek": 0}.get(verb, 1)
    assert spent(straight) - before <= units * calls


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("fault", ["duplicate", "swap", "corrupt"])
def test_no_call_is_charged_twice_when_replies_are_not_what_was_sent(
    fault: str, colour: str, mode: str, bench: Bench, hire: Callable[..., Caller]
) -> None:
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, mode=mode, clock=clock)
    straight = judge(bench, clock)
    until(lambda: caller.back("probe"), "the store to be known")

    getattr(bench.proxy, fault)()
    for _ in range(4):
        clock.advance(0.5)
        caller.together(5)
    bench.proxy.heal()
    settled(caller)

    assert spent(straight) <= 20


@pytest.mark.parametrize("fault", ["duplicate", "swap"])
@pytest.mark.parametrize("colour", COLOURS)
def test_nobody_is_given_the_answer_to_another_question(
    colour: str, fault: str, bench: Bench, hire: Callable[..., Caller]
) -> None:
    # Every key has spent another number of units, so an answer shows whose it is.
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, mode="raise", clock=clock)
    straight = judge(bench, clock)
    keys = [f"key{number}" for number in range(20)]
    for number, key in enumerate(keys):
        straight.debit(key, number)

    getattr(bench.proxy, fault)()
    begun = [(key, caller.desk.begin("peek", key)) for key in keys]
    calls = [caller.told(key, one) for key, one in begun]
    many = caller.many(keys)

    expected = {key: 1000 - number for number, key in enumerate(keys)}
    wrong = [call for call in calls if call.answer and call.answer.remaining != expected[call.key]]
    taken = [decision.remaining for decision in many.answer or []]
    assert wrong == []
    assert taken in ([], [expected[key] - 1 for key in keys])


@pytest.mark.parametrize("colour", COLOURS)
def test_a_late_reply_is_nobodys(colour: str, bench: Bench, hire: Callable[..., Caller]) -> None:
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, mode="raise", clock=clock)
    judge(bench, clock).debit("late", 500)
    until(lambda: caller.back("probe"), "the store to be known")

    bench.proxy.latency(60)
    late = caller.ask("peek", "late")
    bench.proxy.heal()
    # Where the machine stands still, a call is late by itself; the first one that is not counts.
    answer = until(lambda: caller.back("probe") and caller.ask("peek").answer, "an answer")

    assert (late.answer, answer.remaining) == (None, 1000)


def test_who_is_cancelled_does_not_upset_those_who_share_the_line(
    bench: Bench, hire: Callable[..., Caller]
) -> None:
    clock = ManualClock()
    caller = hire("async", LIMIT, url=bench.url, mode="raise", budget=AMPLE, clock=clock)
    straight = judge(bench, clock)
    keys = [f"key{number}" for number in range(20)]
    for number, key in enumerate(keys):
        straight.debit(key, number)
    caller.take()

    bench.proxy.latency(0.02)
    begun = [caller.desk.begin("peek", key) for key in keys]
    for one in begun[::2]:
        one.cancel()
    calls = [one.result(AMPLE) for one in begun[1::2]]

    assert [call.decision.remaining for call in calls] == list(range(999, 979, -2))
