"""Where a gatekeeper counts: checked when it is made, begun anew, and asked if switched on."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate import MemoryStore, MissingExtra, StoreUnavailable
from headgate.adapters.annex import Annex, Terms
from headgate.errors import RulesError
from headgate.rules.live import switch
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.missing import lose
from tests.rules.live.visitor import Visit

KINDS = pytest.mark.parametrize("kind", [Gatekeeper, AsyncGatekeeper])
SAYS = "store is an address such as memory://, shared://web or redis://host, not "
BAD = {
    "memory": f'{SAYS}"memory"; after the word comes ://',
    "redi://x": f'{SAYS}"redi://x"; did you mean redis?',
    "shared://": f'{SAYS}"shared://"; write a name that processes find each other by, as in '
    "shared://web",
    "memory://x": f'{SAYS}"memory://x"; nothing follows memory://',
    "redis://u:secret@host:x": f"{SAYS}\"redis://***@host:x\"; 'x' is not a number; ports and "
    "databases are",
    "leased+shared://web": f'{SAYS}"leased+shared://web"; leases are for servers; leave leased+ '
    "out",
    "rediss://host?ssl_ca_certs=/nowhere/ca.pem": "store 'rediss://host': cannot read "
    "/nowhere/ca.pem: [Errno 2] No such file or directory",
}
OVER = Rules([Rule("api", limit="1/day")])


@pytest.fixture(autouse=True)
def unheard() -> Iterator[None]:
    """Nobody has heard of a switch yet."""
    switch.warn.cache_clear()
    yield
    switch.warn.cache_clear()


@KINDS
@pytest.mark.parametrize(("url", "said"), BAD.items(), ids=BAD)
def test_a_store_that_cannot_be_is_refused_when_the_gatekeeper_is_made(
    kind: Any, url: str, said: str
) -> None:
    with pytest.raises(ValueError) as caught:
        kind(OVER, url)

    assert str(caught.value) == said


@KINDS
def test_a_store_is_named_and_not_given(kind: Any) -> None:
    with pytest.raises(TypeError) as caught:
        kind(OVER, MemoryStore())

    assert str(caught.value) == f"{SAYS}a MemoryStore"


@KINDS
@pytest.mark.parametrize("url", ["redis://host", "leased+redis+cluster://a,b", "valkey://host"])
def test_a_server_without_its_extra_is_refused_when_the_gatekeeper_is_made(
    kind: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, "hiredis")

    with pytest.raises(MissingExtra) as caught:
        kind(OVER, url)

    assert str(caught.value) == (
        'the extra "redis" is not installed; try pip install "headgate[redis]"'
    )


def test_shared_memory_is_refused_at_once_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(StoreUnavailable) as caught:
        Gatekeeper(OVER, "shared://web")

    assert str(caught.value) == "SharedStore: shared memory needs Linux; use memory:// here"


@KINDS
@pytest.mark.parametrize("url", ["redis://nobody.invalid", "unix:///nowhere/at/all.sock"])
def test_nobody_is_asked_whether_a_store_answers(kind: Any, url: str) -> None:
    assert kind(OVER, url).rules is OVER


def test_rules_with_a_store_that_cannot_be_change_nothing(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = visit(Rule("api", limit="1/day"))
    visitor.say()
    before = visitor.keeper.lodge.book
    lose(monkeypatch, "hiredis")

    with pytest.raises(MissingExtra):
        visitor.keeper.change(Rules([Rule("other", limit="1/day")], store="redis://host"))

    assert (visitor.keeper.lodge.book is before, visitor.say()) == (True, "api")


def test_who_is_switched_off_lets_everybody_in(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="1/day"), Rule("no", match={"path": "/no"}, deny=True))
    rules, version = visitor.keeper.rules, visitor.keeper.version
    visitor.keeper.enabled = False

    entries = [visitor.ask(path) for path in ("/", "/", "/no")]

    assert [(bool(one), one.version, one.idle) for one in entries] == [(True, version, True)] * 3
    assert (visitor.keeper.rules, visitor.keeper.version) == (rules, version)
    assert visitor.keeper.enabled is False


def test_who_is_switched_on_again_goes_on_where_it_was(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="2/day"))
    said = [visitor.say()]
    visitor.keeper.enabled = False
    said += [visitor.say(), visitor.say()]
    visitor.keeper.enabled = True
    said += [visitor.say(), visitor.say()]

    assert said == ["", "", "", "", "api"]
    assert repr(visitor.keeper.tallies()) == "{'api': Tally(passed=2, refused=1, shadowed=0)}"


def test_rules_that_change_meanwhile_come_into_force_afterwards(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="2/day"))
    visitor.keeper.enabled = False
    visitor.keeper.change(Rules([Rule("other", limit="0/s")]))

    said = [visitor.say(), visitor.keeper.rules.rules[0].name]
    visitor.keeper.enabled = True

    assert [*said, visitor.say()] == ["", "other", "other"]


def test_bad_rules_are_refused_while_switched_off(visit: Visit, tmp_path: Path) -> None:
    visitor = visit(Rule("api", limit="1/day"))
    visitor.keeper.enabled = False
    before = visitor.keeper.lodge.book

    with pytest.raises(RulesError) as caught:
        visitor.keeper.change(tmp_path / "none.yaml")

    assert str(caught.value) == f"{tmp_path}/none.yaml: cannot be read: No such file or directory"
    assert visitor.keeper.lodge.book is before


def test_whoever_is_to_be_woken_is_woken_while_switched_off(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="1/day"))
    woken: list[str] = []
    visitor.keeper.lodge.rouse(lambda: woken.append("first"))
    visitor.keeper.enabled = False
    visitor.say()
    visitor.keeper.lodge.rouse(lambda: woken.append("second"))
    visitor.keeper.enabled = True
    said = [visitor.say(), visitor.say()]

    assert (said, woken) == (["", "api"], ["first", "second"])


def test_the_switch_shows(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="1/day"))
    on = repr(visitor.keeper)
    visitor.keeper.enabled = False

    kind, version = type(visitor.keeper).__name__, visitor.keeper.version
    assert on == f"<{kind}: 1 rules, {version}>"
    assert repr(visitor.keeper) == f"<{kind}: 1 rules, {version}, not enabled>"


@KINDS
def test_the_switch_has_two_positions(kind: Any) -> None:
    keeper = kind(OVER)
    with pytest.raises(TypeError) as caught:
        keeper.enabled = "off"

    assert str(caught.value) == "enabled is True or False, not 'off'"
    assert keeper.enabled is True


@pytest.mark.parametrize("word", ["0", "false", "No", " OFF "])
def test_the_environment_switches_everybody_off_and_says_so_once(
    visit: Visit, word: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", word)
    with caplog.at_level(logging.WARNING, "headgate"):
        visitors = [visit(Rule("api", limit="0/s")) for _ in range(2)]

    assert [visitor.say() for visitor in visitors] == ["", ""]
    assert caplog.messages == [
        f"HEADGATE_ENABLED={word}: no rule is asked, and every request is let in"
    ]
    visitors[0].keeper.enabled = True
    assert [visitor.say() for visitor in visitors] == ["api", ""]


@pytest.mark.parametrize("word", ["", "1", "true", "Yes", "on"])
def test_the_environment_leaves_everybody_on(
    visit: Visit, word: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", word)
    visitor = visit(Rule("api", limit="0/s"))

    assert (visitor.say(), visitor.keeper.enabled, caplog.messages) == ("api", True, [])


@KINDS
def test_the_environment_says_no_other_words(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", "maybe")
    with pytest.raises(ValueError) as caught:
        kind(OVER)

    assert str(caught.value) == (
        "HEADGATE_ENABLED is 1, true, yes or on, or 0, false, no or off, not 'maybe'"
    )


def test_who_is_reset_has_counted_nothing(visit: Visit) -> None:
    visitor = visit(
        Rule("api", key="header.x-user", limit="1/day"),
        Rule("all", limit="2/day"),
        Rule("few", concurrent=1),
    )
    inside = visitor.ask(x_user="a")
    said = [visitor.say(x_user="a"), visitor.say(x_user="b")]
    visitor.run(visitor.keeper.reset())
    said += [visitor.say(x_user="a"), visitor.say(x_user="a")]
    # What was held before is given back to nobody.
    visitor.leave(inside)

    assert [*said, visitor.say(x_user="b")] == ["api", "few", "", "api", ""]
    assert visitor.keeper.tallies()["all"].passed == 2


def test_who_is_reset_while_switched_off_stays_so(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="1/day"))
    said = [visitor.say(), visitor.say()]
    visitor.keeper.enabled = False
    visitor.run(visitor.keeper.reset())
    said += [visitor.say(), visitor.say()]
    visitor.keeper.enabled = True

    assert [*said, visitor.say(), visitor.say()] == ["", "api", "", "", "", "api"]


def test_rules_change_after_a_reset_as_before(visit: Visit) -> None:
    new, old = visit(Rule("api", limit="4/day")), visit(Rule("api", limit="4/day"))
    for _ in range(3):
        old.say()
    old.keeper.change(Rules([Rule("api", limit="8/day")]))
    old.run(old.keeper.reset())
    new.keeper.change(Rules([Rule("api", limit="8/day")]))
    for visitor in (new, old):
        visitor.say()
        visitor.keeper.change(Rules([Rule("api", limit="4/day")]))

    assert [[one.say() for _ in range(5)] for one in (old, new)] == [["", "", "", "api", "api"]] * 2


@KINDS
@pytest.mark.parametrize(
    ("url", "shown"),
    [("shared://web", "shared://web"), ("redis://u:secret@host?db=1", "redis://***@host?***")],
)
def test_what_others_count_in_is_not_reset(kind: Any, url: str, shown: str) -> None:
    keeper = kind(OVER, url)
    with pytest.raises(RuntimeError) as caught:
        begin(keeper)

    assert str(caught.value) == (
        f"reset: {shown} is not this gatekeeper's alone; have tests use memory://, or a store of "
        "their own, as in shared://tests or redis://host/1"
    )


def test_limits_at_views_are_switched_and_reset_as_well() -> None:
    lead = Gatekeeper(OVER)
    early = Annex(Gatekeeper, lead)

    def said(annex: Annex[Gatekeeper]) -> list[bool]:
        view = Request(headers={"headgate-view": annex.find(terms, "a")})
        return [bool(lead.enter(Request())), bool(annex.keeper.enter(view))]

    terms = Terms("1/day", {})
    assert [said(early), said(early)] == [[True, True], [False, False]]
    lead.enabled = False
    late = Annex(Gatekeeper, lead)
    assert [said(early), said(late), said(late)] == [[True, True]] * 3
    lead.enabled = True
    assert [said(early), said(late), said(late)] == [
        [False, False],
        [False, True],
        [False, False],
    ]
    lead.reset()
    assert [said(early), said(late), said(late)] == [[True, True], [False, True], [False, False]]


def test_nothing_is_reset_if_not_all_can_be() -> None:
    lead = Gatekeeper(OVER)
    Annex(Gatekeeper, lead, "shared://web")
    said = [bool(lead.enter(Request())) for _ in range(2)]

    with pytest.raises(RuntimeError):
        lead.reset()

    assert [*said, bool(lead.enter(Request()))] == [True, False, False]


def begin(keeper: Any) -> None:
    """Reset a gatekeeper of either colour."""
    answer = keeper.reset()
    if answer is not None:
        asyncio.run(answer)
