"""A rule that is tried refuses nobody, is none of those in force, and tells what it would cut."""

from __future__ import annotations

import asyncio
from array import array
from typing import Any

import pytest

from headgate import ManualClock
from headgate.errors import RulesError
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.tally import NAMES
from headgate.rules.live.trial import KEYS, Trial
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.telemetry.union import recount

RULES = "version: 1\nrules: [{name: api, key: client.ip, limit: 10/min}]"
TRIED = {"key": "client.ip", "limit": "3/min"}


def keeper(text: str = RULES) -> Gatekeeper:
    return Gatekeeper(Rules.read(text), clock=ManualClock(1_000.0))


def ask(found: Gatekeeper, times: int, client: str = "192.0.2.1") -> list[bool]:
    return [bool(found.enter(Request(client=client))) for _ in range(times)]


def test_it_tells_what_it_would_have_cut_of_what_the_others_let_in_and_whom() -> None:
    found, trial = keeper(), Trial(TRIED, 5_000_000)
    found.lodge.attempt(trial)

    answers = ask(found, 12)
    ask(found, 2, "192.0.2.2")

    assert answers == [True] * 10 + [False] * 2
    assert trial.told() == {
        "rule": TRIED,
        "name": "~trial",
        "since": 5.0,
        "allowed": 5,
        "shadowed": 7,
        "keys": [{"key": "192.0.2.1", "shadowed": 7}],
    }


def test_it_is_none_of_the_rules_in_force() -> None:
    found = keeper()
    version = found.version

    found.lodge.attempt(Trial(TRIED))
    entry = found.enter(Request(client="192.0.2.1"))

    assert (found.version, found.rules, [*found.tallies()]) == (version, Rules.read(RULES), ["api"])
    assert entry.version == version


def test_it_survives_other_rules_whatever_they_are_called() -> None:
    found, trial = keeper(), Trial(TRIED)
    found.lodge.attempt(trial)
    ask(found, 4)

    found.change(Rules.read("version: 1\nrules: [{name: trial, key: client.ip, limit: 50/min}]"))
    ask(found, 1)

    assert (trial.told()["allowed"], trial.told()["shadowed"]) == (3, 2)
    assert found.tallies()["trial"].passed == 1


def test_without_it_all_is_as_before() -> None:
    found, trial = keeper(), Trial(TRIED)
    found.lodge.attempt(trial)
    ask(found, 4)

    found.lodge.attempt(None)
    ask(found, 4)

    assert found.lodge.trial is None
    assert trial.told()["shadowed"] == 1
    assert found.tallies()["api"].passed == 8


@pytest.mark.parametrize(
    ("rule", "cut"),
    [
        ({"deny": True}, 4),
        ({"deny": True, "match": {"path": "/x"}}, 0),
        ({"concurrent": 2}, 2),
        ({"adaptive": {"by": "vegas", "initial": 2}}, 2),
        ({"key": "header.x-user", "limit": "5/s"}, 4),
        ({"limit": "2/min", "over": "wait 20s", "rollout": "1%", "name": "api"}, 2),
        ({"limit": "2/min", "over": {"reject": 503}, "mode": "enforce", "group": "g"}, 2),
    ],
)
def test_whatever_it_would_do_it_is_only_counted(rule: dict[str, Any], cut: int) -> None:
    found, trial = keeper(), Trial(rule)
    found.lodge.attempt(trial)

    entries = [found.enter(Request(client="192.0.2.1")) for _ in range(4)]

    assert all(entries)
    assert [entry.waited for entry in entries] == [0.0] * 4
    assert trial.told()["shadowed"] == cut
    for entry in entries:
        found.leave(entry)


def test_all_that_is_wrong_with_it_is_told_and_nothing_changes() -> None:
    with pytest.raises(RulesError) as caught:
        Trial({"limit": "5/sex", "by": "magic", "key": 7})

    assert [str(one) for one in caught.value.problems] == [
        "key: is a fact such as client.ip or header.x-user, or a template such as "
        "user:{header.x-user}, not 7",
        'limit: rate "5/sex": unknown unit "sex" at column 3; try s, min, h or day',
        "by: is token_bucket, gcra, leaky_bucket, fixed_window, sliding_window, sliding_log or "
        'warm_up, not "magic"',
    ]


def test_so_many_keys_are_known_of_those_that_would_be_cut() -> None:
    trial = Trial(TRIED)
    for _ in range(9):
        trial.note("always")
    for number in range(3 * KEYS):
        trial.note(f"once-{number}")

    told = trial.told()["keys"]

    assert len(told) == KEYS
    assert {"key": "always", "shadowed": 9} in told


def test_a_request_is_cut_once_whatever_would_cut_it_and_not_at_all_where_others_do() -> None:
    text = "version: 1\nrules: [{name: full, match: {path: /full}, concurrent: 1}]"
    found, trial = keeper(text), Trial({"key": "client.ip", "limit": "1/min", "concurrent": 1})
    found.lodge.attempt(trial)
    paths = ["/", "/", "/", "/full", "/full", "/full"]

    entries = [found.enter(Request(path=path, client="192.0.2.1")) for path in paths]

    # The last two are refused by the rule in force.
    assert [bool(entry) for entry in entries] == [True] * 4 + [False] * 2
    told = trial.told()
    assert (told["allowed"], told["shadowed"]) == (1, 3)
    assert told["keys"] == [{"key": "192.0.2.1", "shadowed": 3}]


def test_what_it_has_counted_lies_on_the_board_and_is_there_for_whoever_comes_next() -> None:
    rows: dict[str, Any] = {}
    found, trial = keeper(), Trial(TRIED, 5_000_000)
    found.lodge.furnish(lambda name: rows.setdefault(name, array("q", bytes(8 * len(NAMES)))))
    found.lodge.attempt(trial)
    ask(found, 5)

    board = {f"rule:{name}": [*row] for name, row in rows.items()}
    one: Any = {"rules": {}, "routes": {}, "trial": {**Trial(TRIED, 5_000_000).told()}}
    recount(one, board)

    assert sorted(rows) == ["api", "~trial@5000000"]
    assert (one["trial"]["allowed"], one["trial"]["shadowed"]) == (3, 2)


def test_event_loops_try_it_too() -> None:
    async def converse() -> int:
        found, trial = AsyncGatekeeper(Rules.read(RULES), clock=ManualClock(1_000.0)), Trial(TRIED)
        found.lodge.attempt(trial)
        for _ in range(6):
            assert await found.enter(Request(client="192.0.2.1"))
        return int(trial.told()["shadowed"])

    assert asyncio.run(converse()) == 3
