"""Where rules, their changes and their waits meet: what must hold at the edges."""

from __future__ import annotations

import os
from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules import Entry, Gatekeeper, Request, Rule, Rules
from headgate.rules.live.fees import number
from tests.rules.live.visitor import Visit

WAIT = {"wait": {"timeout": "60s", "queue": 2}}


@pytest.mark.parametrize(
    ("rule", "settings"),
    [
        ({"limit": "unlimited"}, {}),
        ({"limit": "1/h", "key": "user", "overrides": {"ann": {"limit": "unlimited"}}}, {}),
        ({"limit": "1/h"}, {"plans": {"gold": {"r": {"limit": "unlimited"}}}}),
    ],
)
def test_what_is_unlimited_lets_everybody_in(
    visit: Visit, rule: dict[str, Any], settings: dict[str, Any]
) -> None:
    visitor = visit(Rule("r", **rule), **settings)

    assert [visitor.say(user="ann", plan="gold") for _ in range(3)] == ["", "", ""]
    assert visitor.keeper.tallies()["r"].passed == 3


@pytest.mark.parametrize("by", ["sliding_log", "token_bucket", "gcra", "fixed_window"])
def test_an_answer_that_is_heavier_than_a_limit_can_owe_is_charged_as_much(
    visit: Visit, by: str
) -> None:
    cost = {"by": "response.header.x-cost", "most": 10**15}
    visitor = visit(Rule("r", limit="100/min", by=by, cost=cost))
    visitor.leave(visitor.ask(), x_cost=str(10**15))

    assert visitor.say() == "r"


@pytest.mark.parametrize(
    ("said", "read"),
    [("12", 12), (" 7 ", 7), ("9" * 15, 10**15 - 1), ("9" * 16, 10**15), ("9" * 5000, 10**15)]
    + [(word, 1) for word in ("", "-5", "1.5", "1e3", "١٢", "0x10")],
)  # fmt: skip
def test_a_number_that_is_too_long_is_a_great_one(said: str, read: int) -> None:
    assert number(said) == read


def test_a_download_that_is_under_way_obeys_a_narrower_pipe(visit: Visit) -> None:
    wide = Rule("files", key="client.ip", bandwidth="1MB/s")
    visitor = visit(wide)
    entry = visitor.ask(client="192.0.2.1")
    before = visitor.pour(entry, 1_000_000)
    visitor.keeper.change(Rules([Rule("files", key="client.ip", bandwidth="1KB/s")]))
    visitor.ask(client="192.0.2.1")

    took = visitor.pour(entry, 20_000)

    # What was left of the wide pipe is as little of the narrow one.
    assert before == 0.0
    assert 19.0 <= took <= 20.1


@pytest.mark.parametrize("terms", [{"limit": "1/min"}, {"concurrent": 1}])
@pytest.mark.parametrize("tried", [{"mode": "shadow"}, {"rollout": "0%"}])
def test_who_meets_a_rule_that_is_tried_out_waits_for_nobody(
    visit: Visit, terms: dict[str, Any], tried: dict[str, Any]
) -> None:
    visitor = visit(Rule("r", **terms, over=WAIT, **tried))
    entries = [visitor.ask() for _ in range(3)]
    held = [[rule.name for rule in entry.shadowed] for entry in entries]
    for entry in entries:
        visitor.leave(entry)

    assert (held, visitor.clock.now()) == ([[], ["r"], ["r"]], ManualClock().now())


def test_a_pipe_that_is_tried_out_holds_nothing_back(visit: Visit) -> None:
    visitor = visit(Rule("r", bandwidth="1KB/s", mode="shadow"))

    assert visitor.pour(visitor.ask(), 1_000_000) == 0.0


class Standing:
    """A clock on which somebody asks while others sleep."""

    def __init__(self) -> None:
        self.time = ManualClock()
        self.meanwhile: list[Any] = []

    def now(self) -> int:
        return self.time.now()

    def sleep(self, seconds: float) -> None:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        self.time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


def queued() -> Rules:
    return Rules([Rule("r", limit="1/s", over=WAIT)])


def test_who_waits_is_counted_by_the_rules_that_come_after() -> None:
    clock = Standing()
    keeper = Gatekeeper(queued(), clock=clock)
    keeper.enter(Request())
    found: list[Entry] = []

    def change() -> None:
        # One sleeps and another comes; then new rules, which have the same queue.
        keeper.change(Rules([*queued().rules, Rule("other", match={"path": "/x"}, limit="1/s")]))
        found.append(keeper.enter(Request()))

    clock.meanwhile = [lambda: found.append(keeper.enter(Request())), change]
    found.append(keeper.enter(Request()))

    assert [entry.rule for entry in found] == ["r", "", ""]
    assert found[0].refusal is not None
    assert found[0].refusal.kind == "capacity"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_nobody_waits_in_a_child_because_they_do_in_its_parent() -> None:
    clock = Standing()
    keeper = Gatekeeper(queued(), clock=clock)
    keeper.enter(Request())
    codes: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            crowd = keeper.lodge.book.rulings[0].crowd
            os._exit(99 if crowd is None else crowd.waiting)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    clock.meanwhile = [fork]
    keeper.enter(Request())

    assert codes == [0]


def test_a_limit_that_finds_itself_has_the_queue_that_was_said_last() -> None:
    def ruled(queue: int) -> Rules:
        return Rules([Rule("r", adaptive="aimd", over={"wait": {"timeout": 1, "queue": queue}})])

    keeper = Gatekeeper(ruled(50))
    before = keeper.lodge.book.rulings[0].guards()[0][0].queue
    keeper.change(ruled(3))

    assert (before, keeper.lodge.book.rulings[0].guards()[0][0].queue) == (50, 3)
