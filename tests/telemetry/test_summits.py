"""Who asks most is told of many rules without looking through all of them each time."""

from __future__ import annotations

import pytest

from headgate import ManualClock
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.ranking import heaviest
from headgate.rules.live.top import SIZE, Tops
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.telemetry.summits import MANY, PART, Summits


def keeper(rules: int) -> Gatekeeper:
    lines = [
        f"- {{name: r{one}, match: {{path: /{one}}}, key: client.ip, limit: 9/s}}"
        for one in range(rules)
    ]
    text = "\n".join(["version: 1", "rules:", *lines])
    return Gatekeeper(Rules.read(text), clock=ManualClock(1_000.0))


def ask(found: Gatekeeper, *rules: int, times: int = 1) -> None:
    for rule in rules:
        for _ in range(times):
            found.enter(Request(path=f"/{rule}", client="192.0.2.1"))


def test_of_many_rules_a_few_are_looked_at_each_time_and_all_in_turn() -> None:
    found, summits = keeper(3 * PART), Summits()
    rulings = {one.name: one for one in found.lodge.rulings}
    summits.tell(rulings, 1)
    ask(found, *range(3 * PART))

    seen = []
    for now in range(2, 6):
        told = summits.tell(rulings, now)
        seen.append([name for name, one in told.items() if one["total"] == 1])

    assert [len(one) for one in seen] == [PART, 2 * PART, 3 * PART, 3 * PART]


def test_who_looks_for_the_first_time_is_told_all_of_it() -> None:
    found = keeper(3 * PART)
    ask(found, *range(3 * PART))

    told = Summits().tell({one.name: one for one in found.lodge.rulings}, 1)

    assert [one["asked"][0]["key"] for one in told.values()] == ["192.0.2.1"] * (3 * PART)


def test_of_very_many_rules_those_are_told_that_refuse_most_and_are_asked_most() -> None:
    found = keeper(MANY + 50)
    ask(found, 140, times=12)
    ask(found, 120)

    told = Summits().tell({one.name: one for one in found.lodge.rulings}, 1)

    assert len(told) == MANY
    assert [name for name, one in told.items() if one["total"]] == ["r120", "r140"]


@pytest.mark.parametrize("few", [3, 1000])
def test_the_heaviest_of_two_spans_are_those_of_all_keys_one_by_one(few: int) -> None:
    tops = Tops()
    tops.turn(1)
    for span in (1, 2):
        for key in range(1500):
            for turn in range(1 + 5000 // (key * span + 9)):
                (tops.refused if turn % 2 else tops.passed).note(f"k{key * span % 1500}")
        if span == 1:
            tops.turn(300_000_001)
    several = (tops.passed_before, tops.passed, tops.refused_before, tops.refused)
    known = [(heaviest(9 * SIZE, top), top.places()[2]) for top in several]

    heavy, _, _ = tops.most(few, 300_000_002)

    keys = {key for counts, _ in known for key in counts}
    expected = sorted(
        (-sum(counts[key].times if key in counts else unseen for counts, unseen in known), key)
        for key in keys
    )
    assert [(-each.asked, each.key) for each in heavy] == expected[:few]
