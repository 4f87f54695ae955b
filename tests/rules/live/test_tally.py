"""What is counted of rules, who is told, and when an alarm is raised."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from headgate import COMPILED, ManualClock
from headgate.rules.live.alarm import Alarm
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.tally import NAMES, TRIED, Tally
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.rules.live.visitor import Visit


def test_every_rule_counts_what_it_let_in_and_refused(visit: Visit) -> None:
    visitor = visit(
        Rule("many", limit="4/min"),
        Rule("few", limit="3/min"),
        Rule("shy", limit="1/min", mode="shadow"),
    )
    for _ in range(6):
        visitor.say()

    assert repr(visitor.keeper.tallies()) == (
        "{'many': Tally(passed=6, refused=0, shadowed=0), "
        "'few': Tally(passed=3, refused=3, shadowed=0), "
        "'shy': Tally(passed=3, refused=0, shadowed=2)}"
    )
    assert visitor.keeper.tallies()["few"].share == 0.5


def test_one_rule_alone_is_counted_as_well(visit: Visit) -> None:
    visitor = visit(Rule("few", key="client.ip", limit="1/min"))
    for client in ("a", "a", ""):
        visitor.say(client=client)

    assert repr(visitor.keeper.tallies()["few"]) == "Tally(passed=1, refused=2, shadowed=0)"


def test_counts_go_on_when_rules_change(visit: Visit) -> None:
    visitor = visit(Rule("few", limit="1/min"))
    visitor.say()

    visitor.keeper.change(Rules([Rule("few", limit="2/min")]))
    visitor.say()

    assert repr(visitor.keeper.tallies()["few"]) == "Tally(passed=1, refused=1, shadowed=0)"


def test_whoever_listens_hears_every_decision(visit: Visit) -> None:
    visitor = visit(Rule("few", limit="1/min"), Rule("one", match={"path": "/one"}, concurrent=1))
    heard: list[Entry] = []
    visitor.keeper.listen(heard.append)

    said = [visitor.say(path) for path in ("/", "/one", "/other")]

    assert [entry.rule for entry in heard] == said == ["", "few", "few"]


def test_a_listener_that_fails_fails_alone(visit: Visit, caplog: pytest.LogCaptureFixture) -> None:
    visitor = visit(Rule("few", limit="1/min"))
    visitor.keeper.listen(lambda entry: 1 / 0)

    with caplog.at_level(logging.ERROR, "headgate"):
        assert visitor.say() == ""

    assert [record.message for record in caplog.records] == [
        "a listener failed; the request goes on"
    ]


def test_an_alarm_is_raised_once_and_taken_back() -> None:
    clock = ManualClock()
    keeper = Gatekeeper(Rules([Rule("few", limit="100/min")]), clock=clock)
    told: list[tuple[Any, ...]] = []
    keeper.listen(Alarm(lambda *said: told.append(said), refused=0.2, least=50, clock=clock))

    for _ in range(150):
        keeper.enter(Request())
    assert told == [("few", 0.2, True)]

    clock.advance(120)
    for _ in range(60):
        keeper.enter(Request())
    assert told[1:] == [("few", 0.0, False)]


def test_a_few_requests_raise_no_alarm() -> None:
    clock = ManualClock()
    keeper = Gatekeeper(Rules([Rule("few", limit="1/min")]), clock=clock)
    told: list[tuple[Any, ...]] = []
    alarm = Alarm(lambda *said: told.append(said), least=100, clock=clock)
    keeper.listen(alarm)

    for _ in range(99):
        keeper.enter(Request())

    assert told == []
    assert alarm.shares() == {"few": 98 / 99}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"refused": 0.0}, "Alarm: refused is a share above 0 and up to 1, not 0.0"),
        ({"window": 0.0}, "Alarm: window is 0.001 or more seconds, not 0.0"),
        ({"least": 0}, "Alarm: least is 1 or more, not 0"),
    ],
)
def test_an_alarm_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Alarm(print, **settings)
    assert str(caught.value) == message


class Sheet(list[int]):
    """Cells of which is looked at, at each moment, what another process would find there."""

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value)
        assert self[NAMES.index("shadowed")] <= self[NAMES.index("allowed")]


@pytest.mark.skipif(COMPILED, reason="cells are C's")
def test_nobody_who_reads_meanwhile_finds_more_tried_out_than_allowed() -> None:
    # Cells are read from the first to the last one.
    assert NAMES.index("shadowed") < NAMES.index("allowed")
    tally, sheet = Tally(), Sheet([0] * len(NAMES))
    tally.move(sheet)
    tally.count(TRIED, "ada", 1, None, 0, 0)

    assert tally.shadowed == tally.passed == 1
