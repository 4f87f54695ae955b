"""Every fault, in both colours, under every answer to it: what must hold whatever happens.

One key is asked for more than its limit, another for less, so that both what goes in and what is
charged for it can be counted. The clock stands still: nothing comes in meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from headgate import Limiter, ManualClock, StoreUnavailable, TokenBucket
from headgate.stores.redis.store import RedisStore
from tests.faults.caller import COLOURS, CROWD, MODES, Call, Caller
from tests.faults.scenes import AMPLE, ANY, FAILED, SCENES, SERVED, Bench, Scene
from tests.pairs import pairs
from tests.servers.waiting import until

LIMIT = TokenBucket("20 per 1000day")


@pytest.mark.parametrize(
    ("scene", "colour", "mode"),
    pairs(SCENES, COLOURS, MODES),
    ids=lambda one: one.title if isinstance(one, Scene) else one,
)
def test_every_check_is_answered_and_the_store_comes_back(
    scene: Scene, colour: str, mode: str, bench: Bench, hire: Callable[..., Caller]
) -> None:
    before, others = files(), {*threading.enumerate()}
    clock = ManualClock()
    caller = hire(colour, LIMIT, url=bench.url, mode=mode, budget=scene.budget, clock=clock)
    until(lambda: caller.back("probe"), "the store to be known")

    with scene.play(bench):
        meanwhile = [caller.take("few") for _ in range(3)] + caller.together(24, "many")
        until(lambda: bench.proxy.open <= connections(colour), "lines to be no more than allowed")
    until(lambda: caller.back("probe"), "the store to be back")
    until(lambda: rested(caller, others), "what is owed to be settled")
    few = spent(bench, clock, "few")
    caller.close()
    until(lambda: not {*threading.enumerate()} - others, f"threads to be {others}, as before")
    # Fewer are no leak: what an earlier test left may have been shut meanwhile.
    until(lambda: files() <= before, f"{files()} files to be {before}, as before")

    assert [
        *problems(scene, mode, meanwhile),
        *answers(scene, mode, meanwhile),
        *bounds(scene, mode, [call for call in meanwhile if call.key == "many"]),
        *([f"3 checks were charged {few} times"] if few > 3 else []),
    ] == []


def problems(scene: Scene, mode: str, calls: list[Call]) -> list[str]:
    """Who raised what was not announced."""
    found = [call.problem for call in calls if call.problem is not None]
    if mode != "raise":
        return [f"{mode} raised {problem!r}" for problem in found]
    kinds = [problem.kind for problem in found if isinstance(problem, StoreUnavailable)]
    # On a busy machine, whatever is wrong may also be late; late at the door is "connection".
    odd = set() if scene.kinds == ANY else {*kinds} - {*scene.kinds, "timeout", "connection"}
    wrong = [
        f"raised {problem!r}" for problem in found if not isinstance(problem, StoreUnavailable)
    ]
    if odd or (scene.outcome == FAILED and not {*scene.kinds} & {*kinds}):
        wrong.append(f"said {sorted({*kinds})}, not {sorted(scene.kinds)}")
    return wrong


def answers(scene: Scene, mode: str, calls: list[Call]) -> list[str]:
    """Which decisions are not as the scene and the mode will have them."""
    wrong = []
    without = [call for call in calls if call.without]
    if scene.outcome == SERVED and without:
        wrong.append(f"{len(without)} of {len(calls)} were decided without the store")
    if scene.outcome == FAILED and len(without) < len(calls):
        wrong.append(f"only {len(without)} of {len(calls)} were decided without the store")
    decisions = [call.answer for call in without if call.answer is not None]
    if mode == "deny" and {(bool(one), one.reason) for one in decisions} - {(False, "unavailable")}:
        wrong.append("not everything was denied as unavailable")
    if mode == "allow" and not all(decisions):
        wrong.append("not everything was allowed")
    return wrong


def bounds(scene: Scene, mode: str, calls: list[Call]) -> list[str]:
    """Where more of one key went in than the limit allows, counted from the history."""
    let_in = [call for call in calls if call.answer is not None and call.decision]
    here = sum(call.without for call in let_in)
    there = len(let_in) - here
    wrong = []
    if there > scene.quotas * LIMIT.limit:
        wrong.append(f"the store let {there} in")
    if mode == "local" and here > LIMIT.limit:
        wrong.append(f"without the store {here} went in")
    return wrong


def spent(bench: Bench, clock: ManualClock, key: str) -> int:
    """What the server itself believes that `key` has spent."""
    store = RedisStore(bench.server.url, AMPLE)
    judge = Limiter(LIMIT, store=store, clock=clock, when_unavailable="raise")
    seen = judge.peek(key)
    store.close()
    return seen.limit - seen.remaining


def connections(colour: str) -> int:
    return CROWD if colour == "sync" else 1


def rested(caller: Caller, others: set[threading.Thread]) -> bool:
    """Whether nothing is done beside the calls any longer; `others` were there before."""
    new = {*threading.enumerate()} - others
    return caller.desk.tasks() == 0 and all(one.name.startswith("caller") for one in new)


def files() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))
