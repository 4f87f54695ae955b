"""A gateway grants requests a budget, and no client ever sees of it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headgate import Budget, Limiter, ManualClock, PurseRefused, SharedStore
from headgate.adapters.budget.asgi import BudgetMiddleware
from headgate.rules.live.treasury import opened
from headgate.rules.model.rules import Rules
from headgate.wire.heads import teller
from tests.adapters.asgi.serving import serving
from tests.budget.kit import KEY
from tests.gateway.answering import Answering
from tests.gateway.asking import asked, reply
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import Answer
from tests.servers.launch import Server
from tests.servers.waiting import until

NAME = "x-headgate-budget"
BUDGET = {"limit": "100/min", "grant": 20, "keys": KEY, "key": "header.x-user",
          "plans": {"vip": "unlimited", "free": 5}}  # fmt: skip
START = 1_000_000.0


def budgeted(*urls: str, budget: Any = BUDGET, **said: Any) -> Rules:
    return replace(plan(*urls, **said), budget=budget, plan="header.x-plan")


def request(*lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} /a HTTP/1.1", "Host: a.test", *lines, "", ""]).encode()


class Service:
    """A service behind the gateway, which reads what it is brought and spends some of it."""

    def __init__(self, price: int = 3) -> None:
        self.budget = Budget("1/h burst 1000", clock=ManualClock(START), **terms())
        self.price = price
        self.brought: list[float] = []

    def __call__(self, head: bytes) -> bytes:
        (header,) = teller(head)(NAME).split(", ")
        purse = self.budget.open(header)
        self.brought.append(purse.left)
        purse.spend(self.price)
        line = f"X-Headgate-Budget: {purse.answer()}\r\n".encode()
        return FINE.replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n")


def terms() -> dict[str, Any]:
    return {"keys": KEY, "grant": 20}


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[Answering]:
    with Answering(service) as answering:
        yield answering


def left(stage: Stage, account: str) -> int:
    found = stage.gateway.keeper.lodge.budget()
    assert found is not None
    remaining: int = found.peek(account).remaining
    return remaining


def counts(stage: Stage) -> Any:
    found = stage.gateway.keeper.lodge.budget()
    assert found is not None
    return found.counts


def ask(stage: Stage, *lines: str) -> Answer:
    with stage.talk() as talk:
        return reply(talk, request(*lines))


def test_a_request_is_granted_something_and_what_it_leaves_goes_back(
    server: Answering, service: Service
) -> None:
    with Stage(budgeted(server.url)) as stage:
        answer = ask(stage, "X-User: ann")
        stage.rest()

        assert (answer.status, answer.body) == (200, b"fine")
        assert answer.all(NAME) == []
        assert service.brought == [20]
        assert left(stage, "ann") == 97
        assert counts(stage)[:3] == (20, 0, 17)


def test_what_a_client_says_is_not_passed_on(server: Answering, service: Service) -> None:
    stolen = service.budget.open().lend().text
    with Stage(budgeted(server.url)) as stage:
        answer = ask(stage, f"X-HEADGATE-Budget: {stolen}", f"{NAME}: mine", "X-User: ann")

    # There was one line of that name, and it was the gateway's.
    assert answer.status == 200
    assert service.budget.counts.forged == service.budget.counts.replayed == 0
    assert re.findall(rb"(?i)x-headgate-budget", server.heads[0]) == [NAME.encode()]


def test_nor_is_what_is_said_of_it_before_an_answer_or_behind_a_body() -> None:
    lines = ("X-User: ann", "Transfer-Encoding: chunked")
    with Backing() as server, Stage(budgeted(server.url)) as stage, stage.talk() as talk:
        talk.send(request(*lines, method="POST"), b"0\r\nX-Headgate-Budget: mine\r\nX-A: b\r\n\r\n")
        caller = server.take()
        caller.head()
        brought = caller.read(len(b"0\r\nX-A: b\r\n\r\n"))
        caller.say(
            b"HTTP/1.1 103 Early Hints\r\nX-Headgate-Budget: hint\r\nLink: </a>\r\n\r\n"
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\nX-Headgate-Budget: last\r\nX-A: b\r\n\r\n"
        )
        told = talk.upto(b"\r\nX-A: b\r\n\r\n")

    assert brought == b"0\r\nX-A: b\r\n\r\n"
    assert told.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200")
    assert NAME.encode() not in told.lower()


def test_those_of_others_are_sent_nothing_of_it_and_cost_nothing() -> None:
    routes = [
        {"match": {"path": "/a", "header.x-user": "ann"}, "upstream": "one", "budget": False},
        {"upstream": "one"},
    ]
    with Answering() as others, Stage(budgeted(others.url, routes=routes)) as stage:
        statuses = [ask(stage, f"X-User: {who}", f"{NAME}: mine").status for who in ("ann", "bob")]
        stage.rest()

        assert statuses == [200, 200]
        assert [NAME.encode() in head for head in others.heads] == [False, True]
        assert (left(stage, "ann"), left(stage, "bob")) == (100, 80)
        assert counts(stage).entered == 1


def test_a_plan_says_how_much_and_the_important_ask_nobody(
    server: Answering, service: Service
) -> None:
    with Stage(budgeted(server.url)) as stage:
        for name in ("free", "vip"):
            ask(stage, f"X-User: {name}", f"X-Plan: {name}")

        assert service.brought == [5, float("inf")]
        assert [left(stage, "free"), left(stage, "vip")] == [97, 100]
        assert (counts(stage).entered, counts(stage).uncounted) == (1, 1)


def test_who_has_nothing_left_does_not_get_past_the_gateway(server: Answering) -> None:
    small = {**BUDGET, "limit": "20/min"}
    with Stage(budgeted(server.url, budget=small)) as stage:
        statuses = [ask(stage, "X-User: ann").status for _ in range(2)]
        answer = ask(stage, "X-User: ann", "Accept: application/json")
        stage.rest()
        held = counts(stage)
        other = ask(stage, "X-User: bob").status
        status = stage.gateway.status()

    assert (statuses, other) == ([200, 429], 200)
    # Three more have to come, of twenty in a minute.
    assert (answer.status, answer.all("retry-after")) == (429, ["9"])
    assert json.loads(answer.body)["type"].endswith("#quota-exceeded")
    assert json.loads(answer.body)["violated-policies"] == ["budget"]
    assert (held.entered, held.refused_at_entrance) == (1, 2)
    assert (len(server.heads), status["refused"]) == (2, 2)
    assert status["budget"]["refused_at_entrance"] == 2


def test_rules_that_refuse_cost_nothing_of_it(server: Answering) -> None:
    rules = [{"name": "once", "limit": "1/h"}]
    with Stage(budgeted(server.url, rules=rules)) as stage:
        statuses = [ask(stage, "X-User: ann").status for _ in range(2)]

        assert statuses == [200, 429]
        assert counts(stage).entered == 1


def test_a_server_that_says_nothing_of_it_has_spent_all(server: Answering) -> None:
    with Answering() as silent, Stage(budgeted(silent.url)) as stage:
        answer = ask(stage, "X-User: ann")
        stage.rest()

        assert answer.status == 200
        assert left(stage, "ann") == 80
        assert counts(stage).lost == 20


def test_what_was_not_sent_at_all_is_still_there(service: Service) -> None:
    with Backing() as gone, Answering(service) as server:
        gone.close()
        upstream = {"breaker": False}
        with Stage(budgeted(gone.url, server.url, upstream=upstream)) as stage:
            for _ in range(2):
                assert ask(stage, "X-User: ann").status == 200
            stage.rest()

            assert service.brought == [20, 20]
            assert left(stage, "ann") == 94


@pytest.mark.parametrize(
    ("why", "statuses", "said"),
    [
        ("nobody is there", [502, 502], {"upstream": {"breaker": False}}),
        ("nobody is asked", [503, 503], {"upstream": {"breaker": {"failures": 1, "calls": 1}}}),
        ("there is no road", [404, 404], {"route": {"match": {"path": "/b"}}}),
    ],
)
def test_what_the_gateway_answers_by_itself_costs_nothing(
    why: str, statuses: list[int], said: dict[str, Any]
) -> None:
    with Backing() as gone:
        gone.close()
        with Stage(budgeted(gone.url, **said)) as stage:
            assert [ask(stage, "X-User: ann").status for _ in range(2)] == statuses
            stage.rest()

            assert left(stage, "ann") == 100
            assert counts(stage).granted == counts(stage).returned


@pytest.mark.parametrize("used", [False, True])
def test_what_is_sent_once_more_does_not_bring_it_once_more(used: bool) -> None:
    with Backing() as one, Backing() as two:
        rules = budgeted(one.url, two.url, upstream={"breaker": False})
        with Stage(rules) as stage, stage.talk() as talk:
            callers = []
            for server in (one, two) if used else ():
                # Each has answered over the connection on which it is asked next.
                callers.append(asked(talk, server, request("X-User: ann")))
                callers[-1].say(FINE)
                assert answered(talk).status == 200
            talk.send(request("X-User: ann"))
            first = callers[0] if used else one.take()
            texts = [teller(bytes(first.head()))(NAME)]
            # It has seen it, and perhaps done half of it.
            first.close()
            second = callers[1] if used else two.take()
            texts.append(teller(bytes(second.head()))(NAME))
            second.say(FINE)
            assert answered(talk).status == 200
    budget = Budget("1/h", clock=ManualClock(START), keys=KEY, grant=1)

    assert texts[0] != texts[1]
    assert [budget.open(text).left for text in texts] == [20, 0]


def test_who_hangs_up_leaves_it_with_the_server() -> None:
    with Backing() as server, Stage(budgeted(server.url)) as stage:
        with stage.talk() as talk:
            asked(talk, server, request("X-User: ann"))
        stage.rest()

        assert left(stage, "ann") == 80
        assert counts(stage).lost == 20


def test_a_tunnel_takes_it_back_with_the_head_of_the_answer() -> None:
    with (
        Backing() as server,
        Stage(budgeted(server.url, route={"upgrade": True})) as stage,
        stage.talk() as talk,
    ):
        lines = ("Connection: upgrade", "Upgrade: websocket", "X-User: ann")
        caller = asked(talk, server, request(*lines))
        caller.say(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
            b"X-Headgate-Budget: none of yours\r\n\r\n"
        )
        head = talk.upto(b"\r\n\r\n").lower()

        assert head.startswith(b"http/1.1 101 ")
        assert NAME.encode() not in head
        assert counts(stage).forged == 1


def test_a_budget_goes_on_as_rules_change(server: Answering, service: Service) -> None:
    first = budgeted(server.url)
    with Stage(first) as stage:
        ask(stage, "X-User: ann")
        before = stage.gateway.keeper.lodge.budget()
        stage.change(replace(first, headers="none"))
        same = stage.gateway.keeper.lodge.budget()
        stage.change(replace(first, budget={**BUDGET, "grant": 30}))
        ask(stage, "X-User: ann")
        carried = left(stage, "ann")
        stage.change(replace(first, budget=None))
        with pytest.raises(AssertionError):
            left(stage, "ann")
        with Answering() as silent:
            stage.change(plan(silent.url))
            assert ask(stage).status == 200

    assert before is same
    assert (service.brought, carried) == ([20, 30], 94)


def test_where_no_rule_is_asked_nobody_goes_short(server: Answering, service: Service) -> None:
    with Stage(budgeted(server.url)) as stage:
        stage.gateway.keeper.enabled = False
        ask(stage, "X-User: ann")

    assert service.brought == [float("inf")]


def test_it_counts_on_a_server(valkey: Server, server: Answering, service: Service) -> None:
    rules = replace(budgeted(server.url), store=f"{valkey.url}?budget=20")
    service.budget = Budget("1/h burst 1000", **terms())
    there = opened(rules, kind=Limiter)
    with Stage(rules, clock=None) as stage:
        statuses = [ask(stage, "X-User: ann").status for _ in range(3)]
        # What is left goes back in a task of its own.
        until(lambda: there.peek("ann").remaining >= 91, "all to come back")

    assert statuses == [200] * 3
    assert service.brought == [20] * 3


def test_where_the_server_is_gone_the_rules_say_what_to_do(
    server: Answering, service: Service
) -> None:
    service.budget = Budget("1/h burst 1000", **terms())
    rules = replace(budgeted(server.url), store="redis://127.0.0.1:1?budget=0.05")
    for mode, status in (("deny", 503), ("allow", 200)):
        said = replace(rules, budget={**BUDGET, "when_unavailable": mode})
        with Stage(said, clock=None) as stage:
            answer = ask(stage, "X-User: ann", "Accept: application/json")

            assert answer.status == status


@pytest.fixture
def shared() -> Iterator[str]:
    """The URL of a store that processes share, which is gone afterwards."""
    name = f"budget-{secrets.token_hex(4)}"
    yield f"shared://{name}"
    SharedStore(name).remove()


def test_a_service_with_the_same_rules_spends_what_the_gateway_grants(shared: str) -> None:
    rules = Rules.read(json.dumps({"version": 1, "budget": BUDGET, "store": shared}))
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        purse = scope["state"]["purse"]
        seen.append(purse.left)
        # More than it was granted: here it is asked for more.
        await purse.spend(20) if purse.budget.far else purse.spend(20)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})

    budget = opened(rules, kind=Limiter)
    with serving(BudgetMiddleware(app, budget, price=5), lifespan="off") as site:
        said = replace(budgeted(f"http://127.0.0.1:{site.port}"), store=rules.store)
        with Stage(said, clock=None) as stage:
            answer = ask(stage, "X-User: ann", "Connection: close")
            stage.rest(seconds=5.0)
            remaining = left(stage, "ann")

    assert (answer.status, seen, answer.all(NAME)) == (200, [15], [])
    assert budget.counts.reapplied == 1
    # 25 were spent, and what has come since is not much.
    assert 75 <= remaining < 85


def test_rules_without_a_budget_have_none() -> None:
    with pytest.raises(ValueError, match="the rules say nothing of a budget; add a section"):
        opened(Rules())
    with pytest.raises(PurseRefused):
        opened(Rules(budget=BUDGET), kind=Limiter).open("x")
