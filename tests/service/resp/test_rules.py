"""Limits and places of rules, by their names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.resp.staging import RespServiceHost as Stage
from tests.service.resp.staging import plan

STEP = 12_000_000
ROOM = {"name": "room", "key": "client.ip", "concurrent": 2}


def test_units_are_taken_and_told_in_eight_parts(stage: Stage) -> None:
    with stage.talk() as talk:
        first = talk.ask("HG.TAKE", "api", "k", 4)
        second = talk.ask("HG.TAKE", "api", "k", 2)
        never = talk.ask("HG.TAKE", "api", "k", 6)

    assert first == [1, 5, 1, 0, 4 * STEP, "", "api", 0]
    assert second == [0, 5, 1, STEP, 4 * STEP, "limit", "api", 0]
    assert never == [0, 5, 1, -1, 4 * STEP, "never", "api", 0]


def test_who_asks_most_is_noted() -> None:
    with Stage(plan({"name": "api", "key": "client.ip", "limit": "1/min"}, ROOM)) as stage:
        for words in ("HG.TAKE api k", "HG.TAKE api k", "HG.RESERVE api k 1 0", "HG.PEEK api k"):
            stage.ask(*words.split())
        stage.ask("HG.HOLD", "room", "k")
        tallies = stage.hall.keeper.tallies()
        most = {name: tallies[name].tops.most(5, 0)[0] for name in ("api", "room")}

    # Who only looks has not asked.
    assert most == {"api": [("k", 3, 0, 2)], "room": [("k", 1, 0, 0)]}


def test_a_look_takes_nothing_and_a_debit_what_is_not_there(stage: Stage) -> None:
    with stage.talk() as talk:
        answers = [
            talk.ask("HG.PEEK", "api", "k", 5)[:3],
            talk.ask("HG.DEBIT", "api", "k", 6)[:3],
            talk.ask("HG.PEEK", "api", "k")[:4],
            talk.ask("HG.REFUND", "api", "k", 3)[:3],
            talk.ask("HG.RESET", "api", "k"),
            talk.ask("HG.PEEK", "api", "k")[:3],
        ]

    assert answers == [
        [1, 5, 5], [0, 5, 0], [0, 5, 0, 2 * STEP], [1, 5, 2], "OK", [1, 5, 5],
    ]  # fmt: skip


def test_time_gives_back(stage: Stage) -> None:
    stage.ask("HG.TAKE", "api", "k", 5)
    stage.tick(12.0)

    assert stage.ask("HG.TAKE", "api", "k")[0] == 1
    assert stage.ask("HG.TAKE", "api", "k")[0] == 0


def test_a_cost_is_the_rules_own_unless_it_is_said() -> None:
    dear = {"name": "dear", "key": "client.ip", "limit": "10/min", "cost": 3}
    with Stage(plan(dear)) as stage:
        assert stage.ask("HG.TAKE", "dear", "k")[2] == 7
        assert stage.ask("HG.TAKE", "dear", "k", 1)[2] == 6


def test_a_plan_has_limits_of_its_own() -> None:
    rule = {"name": "api", "key": "client.ip", "limit": "5/min"}
    with Stage(plan(rule, plans={"pro": {"api": "50/min"}})) as stage, stage.talk() as talk:
        answers = [
            talk.ask("HG.TAKE", "api", "k", "PLAN", "pro"),
            talk.ask("HG.TAKE", "api", "k", 2, "plan", "pro"),
            talk.ask("HG.TAKE", "api", "k", 2),
        ]

    assert [answer[1:3] for answer in answers] == [[50, 49], [50, 47], [5, 3]]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["HG.TAKE", "apy", "k"], 'ERR there is no rule "apy"; did you mean api?'),
        (["HG.TAKE", "api", "k", "x"], "ERR cost is a whole number from 0 to 1125899906842624"),
        (["HG.TAKE", "api", "k", "-1"], "ERR cost is a whole number from 0 to 1125899906842624"),
        (["HG.TAKE", "api", "k", "1_0"], "ERR cost is a whole number from 0 to 1125899906842624"),
        (["HG.TAKE", "api", "k", "PLAN", "a", "b"], "ERR cost is a whole number from 0 to "
                                                    "1125899906842624"),
        (["HG.TAKE", "api", "k", 1, "PLAM", "a"], "ERR what may follow is a cost, then PLAN and a "
                                                  "plan"),
        (["HG.RESET", "api", "k", "x"], "ERR after the key comes PLAN and a plan, or nothing"),
        (["HG.TAKE", "room", "k"], 'ERR the rule "room" has no limit; hold one of its places'),
        (["HG.HOLD", "api", "k"], 'ERR the rule "api" has no places; give it some, such as '
                                  "concurrent: 10"),
        (["HG.HOLD", "room", "k", "1e9"], "ERR ttl is a number of seconds such as 30 or 2.5"),
        (["HG.INSIDE", "room", "k", 1], "ERR after the key comes PLAN and a plan, or nothing"),
        (["HG.RESERVE", "api", "k", 1, 1, "PLAN"], "ERR what may follow is a number of seconds, "
                                                   "then PLAN and a plan"),
        (["HG.COMMIT", "x"], "ERR the id is none of ours; show one exactly as it was given"),
        (["HG.RENEW", "x"], "ERR the id is none of ours; show one exactly as it was given"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_would_be_right(words: list[Any], problem: str) -> None:
    api = {"name": "api", "key": "client.ip", "limit": "5/min"}
    with Stage(plan(api, ROOM)) as stage:
        assert str(stage.ask(*words)) == problem


def test_a_booking_is_held_by_an_id_and_cancelled_once(stage: Stage) -> None:
    with stage.talk() as talk:
        booked = talk.ask("HG.RESERVE", "api", "k", 5)
        late = talk.ask("HG.RESERVE", "api", "k", 1, 20)
        too_late = talk.ask("HG.RESERVE", "api", "k", 1, "11.5")
        cancelled = talk.ask("HG.CANCEL", late[8])
        again = talk.ask("HG.CANCEL", late[8])
        kept = talk.ask("HG.COMMIT", booked[8], 3)

    assert booked[:3] == [1, 5, 0]
    assert booked[9] == 0
    assert late[0] == 1
    assert late[9] == STEP
    assert too_late[0] == 0
    assert too_late[8:] == ["", 0]
    assert cancelled[:3] == [1, 5, 0]
    assert str(again).startswith("ERR the id was committed or cancelled before")
    assert kept[:3] == [1, 5, 2]


def test_a_place_is_held_by_an_id_until_its_time_is_over() -> None:
    with Stage(plan(ROOM)) as stage, stage.talk() as talk:
        first, second = talk.ask("HG.HOLD", "room", "k", 10), talk.ask("HG.HOLD", "room", "k")
        third = talk.ask("HG.HOLD", "room", "k")
        inside = talk.ask("HG.INSIDE", "room", "k")
        stage.tick(9.0)
        renewed = talk.ask("HG.RENEW", first[8])
        released = [talk.ask("HG.RELEASE", second[8]), talk.ask("HG.RELEASE", second[8])]
        stage.tick(9.9)
        kept = talk.ask("HG.INSIDE", "room", "k")
        stage.tick(0.1)
        lost = talk.ask("HG.RENEW", first[8], 5)

    assert first[:3] == [1, 2, 1]
    assert first[9] == 10_000_000
    assert third[0] == 0
    assert third[8] == ""
    assert (inside, renewed, released, kept, lost) == (2, 1, [1, 0], 1, 0)


def test_a_pipeline_is_answered_in_one_piece_and_in_order(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(b"HG.TAKE api k\r\n" * 7 + b"PING\r\n")
        answers = [talk.hear() for _ in range(8)]

    assert [answer[0] for answer in answers[:7]] == [1, 1, 1, 1, 1, 0, 0]
    assert answers[7] == "PONG"


def test_the_service_counts_who_asked_and_who_was_refused(stage: Stage) -> None:
    stage.ask("HG.TAKE", "api", "k", 5)
    stage.ask("HG.TAKE", "api", "k")

    assert (stage.hall.asked, stage.hall.refused) == (2, 1)


def test_the_name_of_the_limit_that_decided_is_told() -> None:
    limits = [{"rate": "5/min", "name": "minute"}, {"rate": "7/h", "name": "hour"}]
    with Stage(plan({"name": "api", "key": "client.ip", "limit": limits})) as stage:
        assert stage.ask("HG.TAKE", "api", "k", 3)[6] == "minute"
        stage.tick(60.0)
        assert stage.ask("HG.TAKE", "api", "k", 5)[6] == "hour"
