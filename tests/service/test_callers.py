"""Callers: who may ask, by which rules, and how much; their tokens are told to nobody."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from headgate import Decision, ManualClock
from headgate.rules.model.callers import CALLERS, heard, hushed, present
from headgate.rules.model.kinds import Report
from headgate.rules.model.port import Port
from headgate.service.callers import Callers

WEB, JOBS, OLD = "w" * 20, "j" * 20, "o" * 20
TERMS = {
    "web": {"token": WEB, "limit": "2/min"},
    "jobs": {"token": [JOBS, OLD], "rules": ["api", "mail"]},
}


def read(given: Any) -> Any:
    """The terms that a rule file would spell so."""
    report = Report()
    found = CALLERS.read(given, ("callers",), report)
    assert not report.errors
    return found


def wrong(given: Any) -> str:
    """All that is wrong with it."""
    report = Report()
    CALLERS.read(given, ("callers",), report)
    return "\n".join(map(str, report.errors))


def test_a_caller_is_known_by_its_token() -> None:
    callers = Callers(read(TERMS))
    assert callers.needed
    found = [callers.known(token) for token in (WEB, JOBS, OLD)]
    assert [one.name for one in found if one is not None] == ["web", "jobs", "jobs"]
    for other in ("", "w" * 19, "w" * 21, "\ud800", "web"):
        assert callers.known(other) is None


def test_without_callers_nobody_has_to_be_one() -> None:
    callers = Callers({})
    assert not callers.needed
    assert callers.known("") is None


def test_a_caller_may_ask_by_some_rules_or_by_all() -> None:
    callers = Callers(read(TERMS))
    assert [callers.named("web").may(rule) for rule in ("api", "other")] == [True, True]
    assert [callers.named("jobs").may(rule) for rule in ("api", "other")] == [True, False]


def test_a_caller_may_ask_so_often() -> None:
    clock = ManualClock(1000.0)
    web = Callers(read(TERMS), clock).named("web")
    assert [bool(web.take()) for _ in range(3)] == [True, True, False]
    assert web.take().retry_after == 30.0
    clock.advance(60.0)
    assert web.take(2)
    assert Callers(read(TERMS)).named("jobs").take(1_000_000) == Decision(True)


def test_a_caller_that_is_none_may_ask_nothing() -> None:
    nobody = Callers(read(TERMS)).named("nobody")
    assert not nobody.may("api")
    assert nobody.take() == Decision(False, 0, 0, inf, rule="nobody")


def test_other_terms_hold_for_those_who_are_there() -> None:
    callers = Callers(read(TERMS))
    web, jobs = callers.named("web"), callers.named("jobs")
    assert web.take(2)
    callers.change(read({"web": {"token": OLD, "limit": "2/min", "rules": "api"}}))
    assert callers.known(WEB) is None
    assert callers.known(OLD) is web
    assert (web.may("api"), web.may("mail")) == (True, False)
    assert not web.take(), "what it has asked counts on"
    assert (jobs.may("api"), bool(jobs.take())) == (False, False)
    callers.change(read({"web": {"token": OLD}}))
    assert web.take(100)


def test_tokens_are_shown_to_nobody() -> None:
    terms = read(TERMS)
    callers = Callers(terms)
    said = [
        repr(terms),
        repr(callers),
        repr(callers.named("web")),
        repr(hushed(CALLERS.spell(terms))),
    ]
    for text in said:
        assert not any(token in text for token in (WEB, JOBS, OLD))
    assert repr(terms["web"]) == "CallerTerms(token='***', limit='2/min')"


def test_terms_are_spelled_as_they_were_read() -> None:
    assert CALLERS.spell(read(TERMS)) == TERMS


BAD = {
    "a list": (["web"], "callers: is a mapping from callers to {token: ..., rules: ..., limit: "
               "...}, not a list"),
    "no token": ({"web": {}}, 'callers.web: lacks "token", which is a secret of 16 to 1,000 '
                 "letters, digits and signs, or a list of them"),
    "a short token": ({"web": {"token": "hush"}}, "callers.web.token: is a secret of 16 to 1,000 "
                      "letters, digits and signs, not of 4"),
    "a number": ({"web": {"token": 12345678901234567}}, "callers.web.token: is a secret of 16 to "
                 "1,000 letters, digits and signs, not a number; write it in quotes"),
    "a blank": ({"web": {"token": "x" * 20 + " y"}}, "callers.web.token: is a secret of 16 to "
                "1,000 letters, digits and signs of ASCII, not one with blanks or others"),
    "a name": ({"the web": {"token": WEB}}, "callers.the web: is a name of letters, digits and "
               '_ . : -, at most 64 of them, not "the web"'),
    "one token for two": ({"web": {"token": WEB}, "jobs": {"token": WEB}},
                          'callers.jobs.token: is also that of "web"; choose another'),
    "one token twice": ({"web": {"token": [WEB, WEB]}},
                        "callers.web.token: is there twice; choose another"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_without_a_token(what: str) -> None:
    given, said = BAD[what]
    assert wrong(given) == said


def test_rules_and_callers_that_are_not_there_are_missed() -> None:
    terms = read(TERMS)
    report = Report()
    heard(terms, ["api", "mails"], report, ("service", "callers"))
    present(
        terms, [Port("http://:1", caller="wep"), Port("http://:2")], report, ("service", "listen")
    )
    assert [str(one) for one in report.errors] == [
        'service.callers.jobs.rules: there is no rule "mail"; did you mean mails?',
        'service.listen[0].caller: there is no caller "wep"; did you mean web?',
    ]
