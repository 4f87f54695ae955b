"""Applications behind middleware have a purse, and what they leave goes back with the answer."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headgate import AsyncLimiter, Budget, FundsExhausted, Limiter, ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.budget.asgi import BudgetMiddleware
from headgate.budgets.purse import CURRENT
from tests.adapters.asgi.calls import CONNECT, Caller
from tests.budget.kit import chain, left, made

NAME = b"x-headgate-budget"


class App:
    """An application that does with its purse what it is told, and says what it saw."""

    def __init__(self, *costs: int, begun: bool = False) -> None:
        self.costs = costs
        self.begun = begun
        self.scope: Any = None
        self.seen: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        purse = scope["state"]["purse"]
        self.seen = (purse.left, CURRENT.get() is purse)
        kind = "websocket.accept" if scope["type"] == "websocket" else "http.response.start"
        head = {"type": kind, "status": 200, "headers": [(b"x", b"y"), (NAME, b"mine")]}
        if self.begun:
            await send(head)
        for cost in self.costs:
            paid = purse.spend(cost)
            if paid is not None:
                await paid
        if not self.begun:
            await send(head)
        await send({"type": "http.response.body", "body": b"fine"})


@pytest.fixture
def now() -> ManualClock:
    return ManualClock(1000.0)


def call(middleware: BudgetMiddleware, *brought: str, **scope: Any) -> Caller:
    headers = [(NAME, one.encode()) for one in brought]
    headers += [(b"accept", b"application/json"), (b"x-user", b"ann")]
    return asyncio.run(Caller(middleware, **({"headers": headers} | scope))())


def user(scope: Any) -> str:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    return headers[b"x-user"].decode()


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_request_that_comes_in_is_granted_something(now: ManualClock, kind: Any) -> None:
    budget = made(now, kind=kind)
    app = App(3)
    caller = call(BudgetMiddleware(app, budget, price=5, account=user))

    assert (caller.status, app.seen) == (200, (15, True))
    # Outside nobody is told, whatever the application has written there.
    assert caller.headers == {b"x": b"y"}
    assert budget.counts[:3] == (20, 8, 12)
    assert CURRENT.get() is None


def test_one_that_brings_something_spends_that_and_takes_the_rest_back(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    app = App(3)
    loan = shop.open().lend(12)
    caller = call(BudgetMiddleware(app, price, price=4), loan.text)

    assert app.seen == (8, True)
    assert loan.settle(caller.headers[NAME].decode())
    assert loan.purse.left == 13
    # The application does not see the header, and cannot pass it on by mistake.
    assert NAME not in dict(app.scope["headers"])


def test_what_is_spent_behind_the_head_is_not_given_back(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    loan = shop.open().lend(12)
    caller = call(BudgetMiddleware(App(3, begun=True), price, price=0), loan.text)

    assert loan.settle(caller.headers[NAME].decode())
    assert loan.purse.left == 20
    assert price.counts[:3] == (20, 3, 17)


def problem(caller: Caller) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(caller.sent[1]["body"])
    return found


def test_a_refusal_at_the_entrance_is_a_quota_and_one_midway_is_not(now: ManualClock) -> None:
    shop, price = chain(now, 2, "20/min")
    purse = shop.open(account="ann")
    entrance = call(BudgetMiddleware(App(), price, account=user))
    midway = call(BudgetMiddleware(App(), price, price=8), purse.lend(4).text)

    assert (entrance.status, midway.status) == (429, 429)
    assert entrance.headers[b"retry-after"] == b"60"
    assert problem(entrance)["type"].endswith("#quota-exceeded")
    # Who begins again by itself is not to: part of it is done.
    assert b"retry-after" not in midway.headers
    assert (
        problem(midway)
        == {
            "type": "urn:headgate:problem:funds-exhausted",
            "title": "Funds Exhausted Midway",
            "status": 429,
            "detail": "The budget of this request was exhausted midway; part of it may be done.",
            "violated-policies": ["20/min"],
            "permanent": True,
        }
        or problem(midway)["type"] == "urn:headgate:problem:funds-exhausted"
    )
    assert (price.counts.refused_at_entrance, price.counts.exhausted_midway) == (1, 1)


def test_a_no_takes_back_what_was_left_and_says_that_it_broke(now: ManualClock) -> None:
    shop, price = chain(now, 2, "20/min")
    loan = shop.open(account="ann").lend(4)
    caller = call(BudgetMiddleware(App(), price, price=25), loan.text)

    assert loan.settle(caller.headers[NAME].decode())
    assert (loan.purse.left, loan.purse.broken) == (20, True)


def test_what_an_application_lets_through_is_answered(now: ManualClock) -> None:
    shop = made(now, "20/min")
    caller = call(BudgetMiddleware(App(5, 30), shop, account=user))

    assert caller.status == 429
    assert problem(caller)["title"] == "Funds Exhausted Midway"
    assert shop.counts[:3] == (20, 6, 14)


def test_what_starlette_makes_a_500_of_is_answered(now: ManualClock) -> None:
    async def go(request: Request) -> Response:
        request.state.purse.spend(30)
        raise AssertionError

    shop, price = chain(now, 2, "20/min")
    loan = shop.open(account="ann").lend(4)
    app: Any = Starlette(routes=[Route("/", go)])
    caller = call(BudgetMiddleware(app, price), loan.text)

    assert (caller.status, len(caller.sent)) == (429, 2)
    assert problem(caller)["title"] == "Funds Exhausted Midway"
    assert loan.settle(caller.headers[NAME].decode())
    assert (loan.purse.left, loan.purse.broken) == (19, True)


def test_what_else_goes_wrong_in_starlette_is_a_500(now: ManualClock) -> None:
    async def go(request: Request) -> Response:
        with suppress(FundsExhausted):
            request.state.purse.spend(30)
        raise OSError("gone")

    app: Any = Starlette(routes=[Route("/", go)])
    sent: list[Any] = []
    with pytest.raises(OSError, match="gone"):
        asyncio.run(Caller(BudgetMiddleware(app, made(now, "20/min")), tell=sent.append)())

    assert sent[0]["status"] == 500


@pytest.mark.parametrize(("other", "answered"), [(None, True), (OSError("gone"), False)])
def test_tasks_that_all_went_short_are_answered_as_one(
    now: ManualClock, other: Exception | None, answered: bool
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def work(part: Any) -> None:
            part.spend(30)

        async def fail() -> None:
            if other is not None:
                raise other

        async with asyncio.TaskGroup() as group:
            for part in scope["state"]["purse"].split(2):
                group.create_task(work(part))
            group.create_task(fail())

    middleware = BudgetMiddleware(app, made(now, "20/min"), account=user)
    if answered:
        assert problem(call(middleware))["title"] == "Funds Exhausted Midway"
    else:
        with pytest.raises(ExceptionGroup):
            call(middleware)


def test_what_it_lets_through_too_late_is_its_own(now: ManualClock) -> None:
    shop = made(now, "20/min")
    with pytest.raises(FundsExhausted):
        call(BudgetMiddleware(App(30, begun=True), shop, account=user))

    # What was left has gone back all the same.
    assert left(shop, "ann") == 19


@pytest.mark.parametrize("reason", ["forged", "replayed", "expired", "missing", "twice"])
def test_what_does_not_count_is_denied(now: ManualClock, reason: str) -> None:
    shop, price = chain(now, 2, missing="refuse")
    text = made(now).open().lend().text
    other = "y" if text.endswith("x") else "x"
    brought = {"forged": [text[:-1] + other], "missing": [], "twice": [text, text]}.get(
        reason, [text]
    )
    if reason == "replayed":
        price.open(text)
    if reason == "expired":
        now.advance(40.0)
    app = App()
    caller = call(BudgetMiddleware(app, price), *brought)
    word = "forged" if reason == "twice" else reason

    assert (caller.status, app.seen) == (403, None)
    assert problem(caller) == {
        "type": "urn:headgate:problem:denied",
        "title": "Denied",
        "status": 403,
        "detail": f"What the request brought of a budget is {word}.",
    }


def test_where_nobody_knows_it_is_unavailable() -> None:
    budget = Budget(
        AsyncLimiter("10/min", store="redis://127.0.0.1:1?budget=0.05", when_unavailable="raise"),
        grant=5, keys="k" * 32,
    )  # fmt: skip
    caller = call(BudgetMiddleware(App(), budget))

    assert caller.status == 503
    assert problem(caller)["type"] == "urn:headgate:problem:limiter-unavailable"


def test_prices_and_people_go_by_the_request(now: ManualClock) -> None:
    budget = made(now, "1000/min", most=100)
    middleware = BudgetMiddleware(
        App(), budget,
        price=lambda scope: len(scope["path"]), account=user,
        plan=lambda scope: "vip" if scope["path"] == "/vip" else None,
        reserve=lambda scope: 40, route=lambda scope: scope["path"],
    )  # fmt: skip
    call(middleware, path="/four")
    call(middleware, path="/vip")

    assert budget.counts[:6] == (40, 9, 35, 0, 1, 1)


def test_a_websocket_has_a_purse_for_as_long_as_it_lasts(now: ManualClock) -> None:
    shop, price = chain(now, 2)
    app = App(2)
    loan = shop.open().lend(12)
    caller = call(BudgetMiddleware(app, price), loan.text, type="websocket", says=(CONNECT,))

    assert app.seen == (11, True)
    assert loan.settle(caller.headers[NAME].decode())
    assert loan.purse.left == 17
    refused = call(BudgetMiddleware(App(), price), "x", type="websocket", says=(CONNECT,))
    assert refused.status == 1013


@pytest.mark.parametrize("listens", [True, False])
def test_a_handshake_that_goes_short_is_refused(now: ManualClock, listens: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if listens:
            assert await receive() == CONNECT
        scope["state"]["purse"].spend(50)

    middleware = BudgetMiddleware(app, made(now, "20/min"))

    async def play() -> Caller:
        # Of who is not told anything nothing more is to be heard.
        async with asyncio.timeout(5):
            return await Caller(middleware, type="websocket", says=(CONNECT,))()

    assert asyncio.run(play()).status == 1013


def test_a_lifespan_is_nobodys_request(now: ManualClock) -> None:
    heard = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope["type"])

    call(BudgetMiddleware(app, made(now)), type="lifespan")

    assert heard == ["lifespan"]


def test_rules_and_a_budget_stand_one_behind_the_other(now: ManualClock) -> None:
    from headgate.rules import Rule, Rules

    rules = Rules([Rule("once", limit="1/h")])
    budget = made(now)
    app = HeadgateMiddleware(BudgetMiddleware(App(), budget, account=user), rules)
    statuses = [call(app).status for _ in range(2)]  # type: ignore[arg-type]

    assert statuses == [200, 429]
    assert budget.counts.entered == 1


def test_a_price_is_a_number(now: ManualClock) -> None:
    with pytest.raises(ValueError, match="BudgetMiddleware: price is 0 or more, not -1"):
        BudgetMiddleware(App(), made(now), price=-1)
