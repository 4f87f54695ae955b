"""Rules tried in virtual time, as users do it in their own tests."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.testing.plugin import headgate_rules
from headgate.testing.trial import Trial

Begin = Callable[[object], Trial]
LOGIN = Rule("login", match={"method": "POST", "path": "/login"}, key="client.ip", limit="5/min")

# Here the fixture is taken by its name, whether or not Headgate is installed.
__all__ = ["headgate_rules"]


def test_rules_of_a_file_are_tried(headgate_rules: Begin, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('version = 1\n[[rules]]\nname = "login"\nkey = "client.ip"\nlimit = "5/min"\n')
    trial = headgate_rules(file)

    trial.assert_admits(5, "POST /login", client="203.0.113.7")
    trial.assert_admits(5, "POST /login", client="203.0.113.8")


@pytest.mark.parametrize(("within", "count"), [(0.0, 5), (11.9, 5), (12.0, 6), (60.0, 10)])
def test_who_comes_as_soon_as_they_may_gets_all_there_is(within: float, count: int) -> None:
    trial = Trial(Rules([LOGIN]))

    assert trial.admitted("POST /login", within, client="a") == count
    assert trial.clock.now() == round(within * 1e6)


def test_whoever_is_held_stays_inside() -> None:
    trial = Trial(Rules([Rule("one", concurrent=1)]))
    held = trial.hold("GET /")

    trial.assert_refused("one", "GET /")
    trial.leave(held)
    trial.assert_admits(inf, "GET /")


def test_only_answers_that_count_count() -> None:
    trial = Trial(Rules([Rule("login", limit="2/min", counts={"status": 401})]))

    trial.assert_admits(inf, "POST /login", status=200)
    trial.assert_admits(2, "POST /login", status=401)


def test_a_claim_that_is_wrong_fails_in_words() -> None:
    trial = Trial(Rules([LOGIN]))

    with pytest.raises(AssertionError) as caught:
        trial.assert_admits(6, "POST /login", client="a")
    assert str(caught.value) == "POST /login: 5 got in at once, not 6"
    with pytest.raises(AssertionError) as caught:
        trial.assert_admits(5, "GET /")
    assert str(caught.value) == "GET /: no end of them got in at once, not 5"
    with pytest.raises(AssertionError) as caught:
        trial.assert_refused("login", "GET /")
    assert str(caught.value) == "GET /: got in, where login was to refuse it"


def test_a_line_that_is_none_is_said_to_be() -> None:
    with pytest.raises(ValueError) as caught:
        Trial(Rules([LOGIN])).send("login")
    assert str(caught.value) == "a request is a line such as \"GET /search?q=1\", not 'login'"


def test_the_query_is_part_of_the_line() -> None:
    trial = Trial(Rules([Rule("search", match={"query.q": "x"}, limit="0/s")]))

    trial.assert_refused("search", "GET /search?q=x")
    trial.assert_admits(inf, "GET /search?q=y")
