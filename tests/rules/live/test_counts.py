"""However a request is decided, it is counted alike: the short way, the long one, and by name."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules import Gatekeeper, Request, Rule, Rules
from headgate.rules.live.tally import NAMES

ADA, BEN, NOBODY = "ada", "ben", ""


def asked(rule: Rule, keys: list[str], short: bool) -> tuple[dict[str, int], Any, Any]:
    """What is counted when these keys ask one after another, and who asked most."""
    # Two rules make a long way of it; nobody asks about the other.
    rules = [rule] if short else [rule, Rule("other", match={"path": "/**"}, limit="unlimited")]
    keeper = Gatekeeper(Rules(rules), clock=ManualClock())
    # Kept: whoever is forgotten has left.
    inside = [
        keeper.enter(Request("GET", "/", headers={"x-user": key} if key else {})) for key in keys
    ]
    tally = keeper.tallies()[rule.name]
    counts = {name: n for name, n in zip(NAMES, tally.read(), strict=True) if n}
    reading = tally.tops.reading(9, 0)
    assert len(inside) == len(keys)
    return counts, reading["asked"], reading["refused"]


def rule(**words: Any) -> Rule:
    return Rule("api", key="header.x-user", **words)


@pytest.mark.parametrize(
    ("one", "keys", "counts"),
    [
        pytest.param(
            rule(limit="5/min"), [ADA, ADA],
            {"allowed": 2, "units_allowed": 2}, id="let in",
        ),
        pytest.param(
            rule(limit="10/min"), [ADA] * 11,
            {"allowed": 10, "refused": 1, "near": 2, "units_allowed": 10, "units_refused": 1,
             "sampled": 1}, id="refused",
        ),
        pytest.param(
            rule(limit="4/min", cost=3), [ADA, ADA, BEN],
            {"allowed": 2, "refused": 1, "units_allowed": 6, "units_refused": 3,
             "sampled": 1}, id="units",
        ),
        pytest.param(
            rule(limit="5/min"), [ADA, NOBODY],
            {"allowed": 1, "refused": 1, "units_allowed": 1, "units_refused": 1},
            id="nobody is refused",
        ),
        pytest.param(
            rule(limit="5/min", empty_key="allow"), [ADA, NOBODY],
            {"allowed": 2, "units_allowed": 2}, id="nobody may",
        ),
        pytest.param(
            rule(limit="1/min", empty_key="share"), [NOBODY, NOBODY],
            {"allowed": 1, "refused": 1, "near": 1, "units_allowed": 1, "units_refused": 1,
             "sampled": 1}, id="nobody shares",
        ),
        pytest.param(
            rule(limit="5/min", overrides={ADA: "unlimited"}), [ADA, ADA, BEN],
            {"allowed": 3, "units_allowed": 3}, id="unlimited for one",
        ),
    ],
)  # fmt: skip
def test_the_short_way_and_the_long_one_count_alike(
    one: Rule, keys: list[str], counts: dict[str, int]
) -> None:
    short, long = asked(one, keys, True), asked(one, keys, False)

    assert short == long
    assert short[0] == counts
    assert sum(each["asked"] for each in short[1]) == len(keys)
    assert sum(each["refused"] for each in short[2]) == counts.get("refused", 0)


@pytest.mark.parametrize(
    ("one", "keys", "counts", "refused"),
    [
        pytest.param(
            rule(limit="1/min", mode="shadow"), [ADA, ADA],
            {"allowed": 2, "shadowed": 1, "near": 1, "units_allowed": 2, "sampled": 1},
            [(ADA, 1)], id="tried out",
        ),
        pytest.param(
            Rule("api", deny=True), [ADA, BEN],
            {"refused": 2, "units_refused": 2}, [("", 2)], id="denied",
        ),
        pytest.param(
            rule(limit="1/min", over="wait 60s"), [ADA, ADA],
            {"allowed": 1, "delayed": 1, "near": 2, "units_allowed": 2, "waited": 60_000_000},
            [], id="made to wait",
        ),
        pytest.param(
            rule(limit="9/min", concurrent=1), [ADA, ADA],
            {"allowed": 1, "refused": 1, "units_allowed": 1, "units_refused": 1},
            [(ADA, 1)], id="no place",
        ),
    ],
)  # fmt: skip
def test_what_is_decided_on_the_long_way_only(
    one: Rule, keys: list[str], counts: dict[str, int], refused: list[tuple[str, int]]
) -> None:
    found, _, worst = asked(one, keys, True)

    assert found == counts
    assert [(each["key"], each["refused"]) for each in worst] == refused


def test_a_rule_that_let_in_what_another_refused_has_spent_nothing() -> None:
    keeper = Gatekeeper(
        Rules([Rule("first", limit="9/min"), Rule("second", limit="1/min")]), clock=ManualClock()
    )
    for _ in range(2):
        keeper.enter(Request("GET", "/"))

    first = dict(zip(NAMES, keeper.tallies()["first"].read(), strict=True))
    assert (first["allowed"], first["units_allowed"]) == (2, 1)


def test_a_rule_whose_wait_was_in_vain_has_kept_nobody_waiting() -> None:
    clock = ManualClock()
    waits = Rule("waits", limit="1/min", over={"wait": {"timeout": "2min"}})
    keeper = Gatekeeper(Rules([waits, Rule("second", limit="1/h")]), clock=clock)
    begun = clock.now()
    for _ in range(2):
        keeper.enter(Request("GET", "/"))

    found = counted(keeper, "waits")
    assert clock.now() == begun
    assert found == {"allowed": 2, "near": 2, "units_allowed": 1}


def test_a_rule_after_the_one_that_had_no_place_has_its_say_all_the_same() -> None:
    keeper = Gatekeeper(
        Rules([
            Rule("places", concurrent=1),
            Rule("limited", limit="9/min"),
            Rule("tried", deny=True, mode="shadow"),
            Rule("held", concurrent=5),
        ]),
        clock=ManualClock(),
    )  # fmt: skip
    entry = keeper.enter(Request("GET", "/"))
    assert keeper.enter(Request("GET", "/")).rule == "places"
    keeper.leave(entry)

    assert counted(keeper, "places") == {
        "allowed": 1, "refused": 1, "units_allowed": 1, "units_refused": 1,
    }  # fmt: skip
    assert counted(keeper, "limited") == {"allowed": 2, "units_allowed": 1}
    assert counted(keeper, "tried") == {"allowed": 2, "shadowed": 2, "units_allowed": 1}
    assert counted(keeper, "held") == {"allowed": 1, "units_allowed": 1}


def test_what_is_known_when_it_is_answered_is_what_it_cost() -> None:
    rule = Rule("tokens", limit="1000/min", cost={"by": "response.header.x-tokens"})
    keeper = Gatekeeper(Rules([rule]), clock=ManualClock())
    for said in ("120", "30"):
        entry = keeper.enter(Request("POST", "/"))
        keeper.leave(entry, 200, {"x-tokens": said}.__getitem__)

    assert counted(keeper, "tokens") == {"allowed": 2, "units_allowed": 150}


def counted(keeper: Gatekeeper, name: str) -> dict[str, int]:
    """What a rule has counted that is not nothing."""
    return {word: n for word, n in zip(NAMES, keeper.tallies()[name].read(), strict=True) if n}
