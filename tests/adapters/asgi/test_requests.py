"""HeadgateMiddleware decides before the application hears of a request, and tells of it after."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import Caller, call

START = {"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]}
END = {"type": "http.response.body", "body": b"welcome"}


class Welcome:
    """An application that answers everybody alike, and counts them."""

    def __init__(self) -> None:
        self.visits = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.visits += 1
        await send(START)
        await send(END)


def guarded(clock: ManualClock, *rules: Rule, **options: Any) -> HeadgateMiddleware:
    return HeadgateMiddleware(Welcome(), Rules(rules, **options), clock=clock)


def test_a_refusal_is_answered_before_the_application_hears_of_it(clock: ManualClock) -> None:
    app = guarded(clock, Rule("login", match={"path": "/login"}, limit="1/min"))
    call(app, "/login")

    refused = call(app, "/login")

    assert refused.status == 429
    assert refused.headers == {
        b"content-type": b"application/problem+json",
        b"content-length": str(len(refused.body)).encode(),
        b"cache-control": b"no-store",
        b"retry-after": b"60",
        b"ratelimit-policy": b'"login";q=1;w=60',
        b"ratelimit": b'"login";r=0;t=60',
    }
    assert json.loads(refused.body) == {
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Quota Exceeded",
        "status": 429,
        "detail": 'Policy "login" is exceeded. Retry in 60 s.',
        "violated-policies": ["login"],
        "retry_after": 60.0,
    }
    assert app.app.visits == 1  # type: ignore[attr-defined]


def test_an_answer_tells_how_the_limit_stands_after_the_headers_of_its_own(
    clock: ManualClock,
) -> None:
    answer = call(guarded(clock, Rule("api", limit="10/s")))

    assert answer.sent[0]["headers"] == [
        (b"x-app", b"1"),
        (b"ratelimit-policy", b'"api";q=10;w=1'),
        (b"ratelimit", b'"api";r=9;t=1'),
    ]


@pytest.mark.parametrize("rule", [{"limit": "10/s"}, {"limit": "10/s", "concurrent": 5}])
def test_an_application_that_sends_the_same_message_again_does_not_collect_headers(
    rule: dict[str, Any], clock: ManualClock
) -> None:
    app = guarded(clock, Rule("api", **rule))
    call(app)

    call(app)

    assert START["headers"] == [(b"x-app", b"1")]


def test_a_request_that_no_rule_is_about_is_passed_on_as_it_is(clock: ManualClock) -> None:
    answer = call(guarded(clock, Rule("login", match={"path": "/login"}, limit="1/min")), "/")

    assert answer.sent == [START, END]


def test_a_refused_head_has_the_headers_of_a_get_and_no_body(clock: ManualClock) -> None:
    app = guarded(clock, Rule("api", limit="1/min"))
    call(app)

    get, head = call(app), call(app, method="HEAD")

    assert head.headers == get.headers
    assert (head.status, head.body) == (429, b"")


def test_a_refusal_is_html_for_a_browser(clock: ManualClock) -> None:
    app = guarded(clock, Rule("closed", deny=True))

    refused = call(app, headers=[(b"accept", b"text/html,*/*;q=0.8")])

    assert refused.headers[b"content-type"] == b"text/html; charset=utf-8"
    assert b"<h1>Denied.</h1>" in refused.body


@pytest.mark.parametrize("limit", ["10/s", {"rate": "10/s", "by": "gcra"}])
@pytest.mark.parametrize("more", [{}, {"concurrent": 5}])
def test_the_scope_names_the_rules_a_request_was_decided_by(
    limit: Any, more: dict[str, Any], clock: ManualClock
) -> None:
    rules = Rules([Rule("api", limit=limit, **more)])

    answer = call(HeadgateMiddleware(Welcome(), rules, clock=clock))

    assert answer.scope["headgate"].version == rules.digest
    assert answer.scope["headgate"].decisions["api"].remaining == 9


def test_two_middlewares_count_apart_and_both_tell(clock: ManualClock) -> None:
    inner = guarded(clock, Rule("inner", limit="5/s"))
    outer = HeadgateMiddleware(inner, Rules([Rule("outer", limit="3/s")]), clock=clock)
    alone = guarded(clock, Rule("inner", limit="5/s"))

    told = [value for name, value in call(outer).sent[0]["headers"] if name == b"ratelimit"]

    assert told == [b'"inner";r=4;t=1', b'"outer";r=2;t=1']
    assert call(alone).headers[b"ratelimit"] == b'"inner";r=4;t=1'


def test_middlewares_that_are_given_one_gatekeeper_share_it(clock: ManualClock) -> None:
    keeper = AsyncGatekeeper(Rules([Rule("api", limit="5/s")]), clock=clock)
    first, second = HeadgateMiddleware(Welcome(), keeper), HeadgateMiddleware(Welcome(), keeper)
    call(first)

    assert call(second).headers[b"ratelimit"] == b'"api";r=3;t=1'


def test_new_rules_are_obeyed_and_told_of_in_their_dialect(clock: ManualClock) -> None:
    app = guarded(clock, Rule("api", limit="5/s"))
    call(app)

    app.keeper.change(Rules([Rule("api", limit="10/s")], headers="draft-06"))

    assert call(app).headers[b"ratelimit-limit"] == b"10"


def test_rules_are_read_from_a_file(tmp_path: Path, clock: ManualClock) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules: [{name: closed, deny: 451}]\n")

    assert call(HeadgateMiddleware(Welcome(), file, clock=clock)).status == 451


def test_a_client_is_who_the_trusted_proxy_says(clock: ManualClock) -> None:
    rules = Rules([Rule("api", key="client.ip", limit="1/min")],
                  client={"trusted_proxies": ["203.0.113.0/24"]})  # fmt: skip
    app = HeadgateMiddleware(Welcome(), rules, clock=clock)
    names = [b"198.51.100.1", b"198.51.100.2", b"198.51.100.1"]

    statuses = [call(app, headers=[(b"x-forwarded-for", name)]).status for name in names]

    assert statuses == [200, 200, 429]


def test_user_and_plan_come_from_the_scope_if_nobody_says_otherwise(clock: ManualClock) -> None:
    class User:
        is_authenticated = True
        identity = "42"

    rules = Rules([Rule("api", key="user", limit="1/min")], plans={"vip": "unlimited"})
    app = HeadgateMiddleware(Welcome(), rules, clock=clock)
    asked: list[dict[str, Any]] = [
        {},
        {"user": User()},
        {"user": User()},
        {"user": User(), "state": {"plan": "vip"}},
    ]

    assert [call(app, **scope).status for scope in asked] == [403, 200, 429, 200]


def test_user_and_plan_are_functions_of_the_scope(clock: ManualClock) -> None:
    rules = Rules([Rule("api", key="user", limit="1/min")], plans={"vip": "unlimited"})
    app = HeadgateMiddleware(
        Welcome(), rules, user=lambda scope: scope["path"], plan=lambda scope: None, clock=clock
    )

    statuses = [call(app, path).status for path in ("/anna", "/anna", "/bert")]

    assert statuses == [200, 429, 200]


def test_a_wait_is_in_virtual_time(clock: ManualClock) -> None:
    app = guarded(clock, Rule("api", limit="1/s", over="wait 5s"))
    call(app)

    answer = call(app)

    assert (answer.status, clock.now()) == (200, 1_000_000)
    assert answer.scope["headgate"].waited == 1.0


def test_a_request_that_is_given_up_while_it_waits_has_spent_nothing(clock: ManualClock) -> None:
    app = guarded(clock, Rule("api", limit="1/min", over="wait 2min"))

    async def give_up() -> None:
        await Caller(app)()
        waiting = asyncio.ensure_future(Caller(app)())
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(give_up())
    clock.set(60.0)

    assert call(app).status == 200
    assert clock.now() == 60_000_000


def test_a_failure_counts_and_a_success_does_not_where_the_rule_says_so(
    clock: ManualClock,
) -> None:
    async def login(scope: Any, receive: Any, send: Any) -> None:
        await send({**START, "status": 401 if scope["query_string"] else 200})
        await send(END)

    rules = Rules([Rule("login", limit="2/min", counts={"status": 401})])
    app = HeadgateMiddleware(login, rules, clock=clock)

    statuses = [call(app, query_string=query).status for query in (b"", b"", b"x", b"", b"x", b"")]

    assert statuses == [200, 200, 401, 200, 401, 429]


def test_a_cost_that_the_answer_names_is_charged_by_its_headers(clock: ManualClock) -> None:
    async def model(scope: Any, receive: Any, send: Any) -> None:
        await send({**START, "headers": [(b"X-Tokens", b"70")]})
        await send(END)

    rules = Rules([Rule("tokens", limit="100/min", cost={"by": "response.header.x-tokens"})])
    app = HeadgateMiddleware(model, rules, clock=clock)

    assert [call(app).status for _ in range(3)] == [200, 200, 429]


def test_a_lifespan_passes_through_untouched(clock: ManualClock) -> None:
    async def live(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "lifespan.startup"
        await send({"type": "lifespan.startup.complete"})
        assert (await receive())["type"] == "lifespan.shutdown"
        await send({"type": "lifespan.shutdown.complete"})

    rules = Rules([Rule("closed", deny=True)])
    says = ({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})

    answer = call(HeadgateMiddleware(live, rules, clock=clock), says=says, type="lifespan")

    assert [message["type"] for message in answer.sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert "headgate" not in answer.scope


def test_an_application_without_a_lifespan_may_say_so(clock: ManualClock) -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        raise NotImplementedError(scope["type"])

    with pytest.raises(NotImplementedError, match="lifespan"):
        call(HeadgateMiddleware(refuse, Rules(), clock=clock), type="lifespan")


@pytest.mark.parametrize(
    ("peer", "limits"), [("10.0.0.1", [200, 200, 200]), ("192.0.2.1", [200, 429, 429])]
)
def test_a_plan_in_a_header_is_believed_where_a_trusted_proxy_has_written_it(
    peer: str, limits: list[int], clock: ManualClock
) -> None:
    rules = Rules(
        [Rule("api", limit="1/h")],
        plan="header.x-plan",
        plans={"vip": "unlimited"},
        client={"trusted_proxies": ["10.0.0.0/8"]},
    )
    app = HeadgateMiddleware(Welcome(), rules, clock=clock)
    scope = {"client": (peer, 5000), "headers": [(b"x-plan", b"vip")]}

    assert [call(app, **scope).status for _ in range(3)] == limits
