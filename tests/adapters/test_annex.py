"""The rules of views, when many threads come upon a view at once."""

from __future__ import annotations

import os
from typing import Any

import pytest

from headgate import SharedStore
from headgate.adapters.annex import Annex, Terms
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.crowd import hasty, together


def test_a_rule_is_in_force_for_whoever_finds_its_name(scale: int) -> None:
    lead = Gatekeeper(Rules())
    annex = Annex(Gatekeeper, lead)
    for number in range(10 * scale):
        terms = [Terms("2/day", {"by": "fixed_window"}) for _ in range(2)]

        def work(index: int, terms: list[Terms] = terms, place: str = f"view{number}") -> str:
            name = annex.find(terms[index % 2], place)
            entry = annex.keeper.enter(Request("GET", "/", {"headgate-view": name}))
            return f"{name} {'in' if entry else 'out'} {len(entry.decisions)}"

        with hasty():
            found = together(work, 8)

        # Two limits at one place are two rules, each with room for two of the four.
        first, second = f"view{number}", f"view{number}.2"
        assert sorted(found) == sorted(
            f"{name} {said} 1" for name in (first, second) for said in ("in", "in", "out", "out")
        )


def test_what_is_refused_leaves_nothing_behind() -> None:
    annex = Annex(Gatekeeper, Gatekeeper(Rules()))
    good = Terms("2/day", {"name": "one"})
    annex.find(good, "a")
    before = annex.keeper.rules
    try:
        annex.find(Terms("3/day", {"name": "one"}), "b")
    except ValueError as problem:
        said = str(problem)

    assert said == 'limit: "one" stands at another view with other terms'
    assert (annex.keeper.rules is before, annex.find(good, "a")) == (True, "one")


def test_who_listens_to_the_rules_of_the_file_hears_of_those_at_views() -> None:
    lead = Gatekeeper(Rules([Rule("all", limit="9/day")]))
    heard: list[tuple[str, list[str]]] = []
    lead.listen(lambda entry: heard.append(("early", [*entry.decisions])))
    annex = Annex(Gatekeeper, lead)
    lead.listen(lambda entry: heard.append(("late", [*entry.decisions])))
    name = annex.find(Terms("1/day", {}), "a")

    lead.enter(Request())
    for _ in range(2):
        annex.keeper.enter(Request(headers={"headgate-view": name}))

    assert heard == [
        *[("early", ["all"]), ("late", ["all"])],
        *[("early", ["a"]), ("late", ["a"])] * 2,
    ]
    assert {rule: (one.passed, one.refused) for rule, one in lead.tallies().items()} == {
        "all": (1, 0),
        "a": (1, 1),
    }


def test_new_rules_of_the_file_are_followed_once() -> None:
    lead = Gatekeeper(Rules())
    annex = Annex(Gatekeeper, lead)
    terms = Terms("2/day", {})
    annex.find(terms, "a")
    lead.change(Rules(headers="x-delta"))
    annex.find(terms, "a")
    followed = annex.keeper.rules
    annex.find(terms, "a")

    assert (followed.headers, annex.keeper.rules is followed) == (("x-delta",), True)


@pytest.mark.parametrize("terms", [{"rate": "4/day"}, {"rate": (), "concurrent": 1}])
def test_a_view_that_has_the_name_of_a_rule_of_the_file_counts_for_itself(
    terms: dict[str, Any],
) -> None:
    store = f"shared://annex-{os.getpid()}"
    rate, fields = terms["rate"], {word: terms[word] for word in terms if word != "rate"}
    lead = Gatekeeper(Rules([Rule("login", limit=rate, **fields)]), store)
    annex = Annex(Gatekeeper, lead, store)
    name = annex.find(Terms(rate, fields), "login")

    entries = [(lead, lead.enter(Request()))]
    entries += [(annex.keeper, annex.keeper.enter(Request(headers={"headgate-view": name})))]
    for keeper, entry in entries:
        keeper.leave(entry)
    SharedStore(store.removeprefix("shared://")).remove()

    assert [bool(entry) for _, entry in entries] == [True, True]
    assert [one.remaining for _, entry in entries for one in entry.decisions.values()] == (
        [3, 3] if rate else []
    )
