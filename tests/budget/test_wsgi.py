"""The same for applications of WSGI, whose bodies are made while they are sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from io import BytesIO
from typing import Any
from wsgiref.util import FileWrapper

import pytest

from headgate import AsyncLimiter, FundsExhausted, ManualClock
from headgate.adapters.budget.wsgi import BudgetMiddleware
from headgate.budgets.purse import CURRENT
from tests.adapters.serving import served
from tests.budget.kit import chain, left, made

NAME = "x-headgate-budget"


@pytest.fixture
def now() -> ManualClock:
    return ManualClock(1000.0)


def fine(environ: Any, start: Any) -> list[bytes]:
    environ["headgate.purse"].spend(3)
    assert "HTTP_X_HEADGATE_BUDGET" not in environ
    assert CURRENT.get() is environ["headgate.purse"]
    start("200 OK", [("content-length", "4"), ("X-Headgate-Budget", "mine")])
    return [b"fine"]


def user(environ: Any) -> str:
    return str(environ.get("HTTP_X_USER", ""))


def ask(app: Any, brought: str = "", method: str = "GET") -> tuple[HTTPResponse, bytes]:
    with served(app) as port:
        line = HTTPConnection("127.0.0.1", port, timeout=20)
        headers = {"x-user": "ann", "accept": "application/json"}
        line.request(method, "/", headers=headers | ({NAME: brought} if brought else {}))
        answer = line.getresponse()
        body = answer.read()
        line.close()
    return answer, body


def test_a_request_that_comes_in_is_granted_something(now: ManualClock) -> None:
    budget = made(now)
    answer, body = ask(BudgetMiddleware(fine, budget, price=5, account=user))

    assert (answer.status, body, answer.getheader(NAME)) == (200, b"fine", None)
    assert budget.counts[:3] == (20, 8, 12)
    assert left(budget, "ann") == 92


def test_one_that_brings_something_spends_that_and_takes_the_rest_back(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    loan = shop.open().lend(12)
    answer, _ = ask(BudgetMiddleware(fine, price, price=4), loan.text)

    assert loan.settle(answer.getheader(NAME) or "")
    assert loan.purse.left == 13


@pytest.mark.parametrize(
    ("price", "brought", "status", "title"),
    [
        (5, "", 200, ""),
        (30, "", 429, "Funds Exhausted Midway"),
        (5, "forged", 403, "Denied"),
    ],
)
def test_a_no_is_told_as_it_is(
    now: ManualClock, price: int, brought: str, status: int, title: str
) -> None:
    answer, body = ask(BudgetMiddleware(fine, made(now, "20/min"), price=price), brought)

    assert answer.status == status
    assert not title or json.loads(body)["title"] == title


def test_nothing_is_said_to_who_asks_for_the_head(now: ManualClock) -> None:
    answer, body = ask(BudgetMiddleware(fine, made(now)), "forged", "HEAD")

    assert (answer.status, body) == (403, b"")


def test_who_comes_in_when_nothing_is_left_is_refused(now: ManualClock) -> None:
    budget = made(now, "20/min")
    budget.open(account="ann")
    answer, body = ask(BudgetMiddleware(fine, budget, account=user))

    assert (answer.status, answer.getheader("retry-after")) == (429, "60")
    assert json.loads(body)["violated-policies"] == ["20/min"]


def test_what_an_application_lets_through_is_answered(now: ManualClock) -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        environ["headgate.purse"].spend(50)
        raise AssertionError

    budget = made(now, "20/min")
    answer, body = ask(BudgetMiddleware(app, budget, account=user))

    assert (answer.status, json.loads(body)["title"]) == (429, "Funds Exhausted Midway")
    assert left(budget, "ann") == 19


def test_what_it_lets_through_too_late_is_its_own(now: ManualClock) -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        environ["headgate.purse"].spend(50)
        raise AssertionError

    budget = made(now, "20/min")
    with pytest.raises(FundsExhausted):
        BudgetMiddleware(app, budget)({"REQUEST_METHOD": "GET"}, lambda *_: None)

    assert left(budget) == 19


def test_a_body_that_is_made_while_it_is_sent_is_paid_for(now: ManualClock) -> None:
    budget = made(now)
    closed = []

    def app(environ: Any, start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [])

        def parts() -> Iterator[bytes]:
            try:
                for part in (b"a", b"b"):
                    purse = CURRENT.get()
                    assert purse is not None
                    purse.spend(2)
                    yield part
            finally:
                closed.append(budget.counts.returned)

        return parts()

    body: Any = BudgetMiddleware(app, budget)({"REQUEST_METHOD": "GET"}, lambda *_: None)
    first = next(body), CURRENT.get()
    body.close()

    assert first == (b"a", None)
    # Who hangs up gets back what was not made.
    assert closed == [0]
    assert budget.counts[:3] == (20, 3, 17)


def test_a_generator_that_goes_short_before_it_answers_is_answered(now: ManualClock) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        environ["headgate.purse"].spend(50)
        start("200 OK", [])
        yield b"fine"

    budget = made(now, "20/min")
    answer, body = ask(BudgetMiddleware(app, budget, account=user))

    assert (answer.status, json.loads(body)["title"]) == (429, "Funds Exhausted Midway")
    assert left(budget, "ann") == 19


def test_a_generator_that_goes_short_later_is_its_own(now: ManualClock) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"fine"
        environ["headgate.purse"].spend(50)

    body: Any = BudgetMiddleware(app, made(now, "20/min"))(
        {"REQUEST_METHOD": "GET"}, lambda *_: None
    )
    with closing(body), pytest.raises(FundsExhausted):
        list(body)


def test_an_application_that_begins_anew_gives_back_what_is_left(now: ManualClock) -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        try:
            raise OSError
        except OSError:
            start("500 Internal Server Error", [("content-length", "4")], sys.exc_info())
        return [b"oops"]

    shop, price = chain(now, 2)
    loan = shop.open().lend(12)
    answer, _ = ask(BudgetMiddleware(app, price, price=4), loan.text)

    assert answer.status == 500
    assert loan.settle(answer.getheader(NAME) or "")
    assert loan.purse.left == 16


def test_a_file_stays_one_that_the_server_sends_by_itself(now: ManualClock) -> None:
    budget = made(now)

    def app(environ: Any, start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        return FileWrapper(BytesIO(b"file"))

    environ = {"REQUEST_METHOD": "GET", "wsgi.file_wrapper": FileWrapper}
    body = BudgetMiddleware(app, budget)(environ, lambda *_: None)

    assert isinstance(body, FileWrapper)
    assert budget.counts[:3] == (20, 1, 19)


def test_nobody_awaits_here(now: ManualClock) -> None:
    with pytest.raises(TypeError, match="give the budget a Limiter"):
        BudgetMiddleware(fine, made(now, kind=AsyncLimiter))
