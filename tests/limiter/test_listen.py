"""Listeners hear of every decision and can break none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from headgate import Decision

Make = Callable[..., Any]


def test_a_listener_hears_the_key_and_the_decision(make: Make) -> None:
    heard: list[tuple[str, Decision]] = []
    limiter = make("1/s")
    limiter.listen(lambda key, decision: heard.append((key, decision)))

    decisions = [limiter.take("a"), limiter.take("a")]

    assert heard == [("a", decisions[0]), ("a", decisions[1])]


def test_listeners_hear_of_takes_reservations_and_permits(make: Make) -> None:
    heard: list[str] = []
    limiter = make("10/s")
    limiter.listen(lambda key, decision: heard.append(key))
    limiter.take("take")
    limiter.take_many(["first", "second"])
    limiter.reserve("reserve")
    limiter.acquire("acquire")

    assert heard == ["take", "first", "second", "reserve", "acquire"]


def test_a_listener_who_comes_late_hears_what_follows(make: Make) -> None:
    heard: list[str] = []
    limiter = make("10/s")
    limiter.take("before")
    limiter.listen(lambda key, decision: heard.append(key))
    limiter.take("after")
    limiter.take("after")

    assert heard == ["after", "after"]


def test_a_listener_is_given_back_so_that_listen_decorates(make: Make) -> None:
    limiter = make("10/s")

    @limiter.listen
    def hear(key: str, decision: Decision) -> str:
        return key

    assert hear("a", Decision(True)) == "a"


def test_several_listeners_hear_in_the_order_they_came(make: Make) -> None:
    heard: list[int] = []
    limiter = make("10/s")
    for number in range(3):
        limiter.listen(lambda key, decision, number=number: heard.append(number))
    limiter.take("a")

    assert heard == [0, 1, 2]


def test_a_listener_that_raises_breaks_nothing_and_is_logged(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    limiter = make("10/s")
    limiter.listen(lambda key, decision: 1 // 0)
    limiter.listen(lambda key, decision: heard.append(key))

    decision = limiter.take("secret")

    assert (decision.remaining, heard) == (9, ["secret"])
    assert [(one.name, one.levelno, one.getMessage()) for one in caplog.records] == [
        ("headgate", logging.ERROR, "a listener failed; the request goes on")
    ]
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("verb", ["take", "reserve", "acquire"])
def test_no_verb_is_broken_by_a_listener_that_raises(
    make: Make, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    limiter = make("10/s")
    limiter.listen(lambda: None)

    getattr(limiter, verb)("a")

    assert (limiter.peek("a").remaining, len(caplog.records)) == (9, 1)


def test_where_nothing_is_limited_listeners_hear_all_the_same(make: Make) -> None:
    heard: list[tuple[str, Decision]] = []
    limiter = make("unlimited")
    limiter.listen(lambda key, decision: heard.append((key, decision)))
    limiter.take("a")

    assert heard == [("a", Decision(True))]


def test_a_listener_may_ask_the_limiter_again(make: Make) -> None:
    heard: list[int] = []
    limiter = make("10/s")
    plain = getattr(limiter, "_limiter", limiter)
    limiter.listen(lambda key, decision: heard.append(plain.peek(key).remaining))
    limiter.take("a", 3)

    assert heard == [7]
