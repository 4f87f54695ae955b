"""A FastAPI application that is configured: rules in front, one store, and every answer seen."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastapi import Depends, FastAPI, Request, Response, WebSocket
from fastapi.responses import PlainTextResponse

from headgate import ManualClock
from headgate.adapters.fastapi import RequestRefused, configure, limit, limited
from headgate.adapters.fastapi.post import explain
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.matching.request import Request as Asked
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import CONNECT, Caller, call, shut
from tests.adapters.asgi.serving import connections, serving
from tests.servers.launch import Server
from tests.servers.waiting import until


def configured(clock: ManualClock | None, *rules: Rule, **options: Any) -> FastAPI:
    app = FastAPI()
    configure(app, Rules(rules, **options), clock=clock)
    return app


def statuses(app: Any, *paths: str) -> list[int]:
    return [call(app, path).status for path in paths]


def test_rules_stand_in_front_of_routes_and_all_are_told_of_at_once(clock: ManualClock) -> None:
    app = configured(clock, Rule("all", limit="3/s"))

    @app.get("/x")
    @limited("5/s")
    async def search() -> str:
        return "welcome"

    answer = call(app, "/x")

    assert answer.headers[b"ratelimit-policy"] == b'"all";q=3;w=1, "search";q=5;w=1'
    assert answer.headers[b"ratelimit"] == b'"all";r=2;t=1, "search";r=4;t=1'
    assert answer.scope["headgate"].decisions["all"].remaining == 2


def test_a_refusal_at_a_route_tells_of_the_rules_in_front_too(clock: ManualClock) -> None:
    app = configured(clock, Rule("all", limit="3/s"), headers=["x-delta"])

    @app.get("/x")
    @limited("1/min")
    async def search() -> None: ...

    call(app, "/x")
    refused = call(app, "/x")

    assert refused.headers[b"x-ratelimit-remaining"] == b"0"
    assert refused.headers[b"x-ratelimit-limit"] == b"1"


def test_a_refusal_in_front_is_answered_before_any_route(clock: ManualClock) -> None:
    app = configured(clock, Rule("all", limit="1/min"))

    @app.get("/x")
    @limited("5/min")
    async def search() -> None: ...

    call(app, "/x")
    refused = call(app, "/x")

    assert json.loads(refused.body)["violated-policies"] == ["all"]


def test_an_answer_that_a_route_makes_itself_tells_of_limits_too(clock: ManualClock) -> None:
    app = configured(clock)

    @app.get("/x")
    @limited("5/s")
    def page() -> PlainTextResponse:
        return PlainTextResponse("welcome")

    @app.get("/missing", dependencies=[Depends(limit("5/s"))])
    def missing(number: int) -> None: ...

    assert call(app, "/x").headers[b"ratelimit"] == b'"page";r=4;t=1'
    assert call(app, "/missing").headers[b"ratelimit"] == b'"missing";r=4;t=1'


def test_only_answers_of_a_status_count_where_a_limit_says_so(clock: ManualClock) -> None:
    app = configured(clock)

    @app.get("/login")
    @limited("1/min", counts={"status": 401})
    async def login(good: bool = False) -> Response:
        return Response(status_code=200 if good else 401)

    asked = [call(app, "/login", query_string=query) for query in (b"good=1", b"good=1", b"", b"")]

    assert [answer.status for answer in asked] == [200, 200, 401, 429]


def test_bytes_flow_as_a_limit_says(clock: ManualClock) -> None:
    app = configured(clock, Rule("front", bandwidth="2000B/s burst 256"))

    @app.get("/file")
    @limited(bandwidth="1000B/s burst 256")
    async def file() -> PlainTextResponse:
        return PlainTextResponse("x" * 1024)

    answer = call(app, "/file")

    assert (len(answer.body), clock.now()) == (1024, 768_000)


def test_a_place_in_front_and_one_at_a_route_are_both_given_back(clock: ManualClock) -> None:
    app = configured(clock, Rule("front", concurrent=1))

    @app.get("/x")
    @limited(concurrent=1)
    def fail() -> None:
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            call(app, "/x")


def test_a_breaker_at_a_route_learns_from_its_answers(clock: ManualClock) -> None:
    app = configured(clock)

    @app.get("/x")
    @limited(breaker={"calls": 2})
    def fail() -> Response:
        return Response(status_code=502)

    assert statuses(app, "/x", "/x", "/x") == [502, 502, 503]


def test_limits_of_routes_go_by_the_client_the_user_and_the_plan_of_the_rules(
    clock: ManualClock,
) -> None:
    app = FastAPI()
    rules = Rules(
        client={"trusted_proxies": ["203.0.113.0/24"]}, plans={"vip": "unlimited"}, headers="none"
    )
    configure(
        app,
        rules,
        user=lambda scope: scope["state"].get("name"),
        plan=lambda scope: scope["query_string"].decode(),
        clock=clock,
    )

    async def sign_in(request: Request) -> None:
        request.state.name = request.headers["x-name"]

    @app.get(
        "/x", dependencies=[Depends(sign_in), Depends(limit("1/h", key=["user", "client.ip"]))]
    )
    async def search() -> None: ...

    def ask(name: bytes, address: bytes, plan: bytes = b"") -> int:
        headers = [(b"x-name", name), (b"x-forwarded-for", address)]
        answer = call(app, "/x", headers=headers, query_string=plan)
        assert b"ratelimit" not in answer.headers
        return answer.status

    assert [ask(b"ann", b"1.1.1.1"), ask(b"bob", b"1.1.1.1"), ask(b"ann", b"1.1.1.2")] == [200] * 3
    assert [ask(b"ann", b"1.1.1.1"), ask(b"ann", b"1.1.1.1", b"vip")] == [429, 200]


def test_a_client_cannot_pass_for_a_request_at_another_route(clock: ManualClock) -> None:
    app = configured(clock)

    @app.get("/a")
    @limited("1/h")
    async def first() -> None: ...

    @app.get("/b")
    @limited("5/h")
    async def second() -> None: ...

    call(app, "/a")
    forged = [(b"headgate-view", b"second")]

    assert call(app, "/a", headers=forged).status == 429
    assert call(app, "/b").headers[b"ratelimit"] == b'"second";r=4;t=720'


def test_rules_that_change_change_for_routes_as_well(clock: ManualClock) -> None:
    app = configured(clock)

    @app.get("/x")
    @limited("5/s")
    async def search() -> None: ...

    call(app, "/x")
    app.state.headgate.keeper.change(Rules(headers=["x-delta"]))

    assert call(app, "/x").headers[b"x-ratelimit-remaining"] == b"3"


def test_a_gatekeeper_that_others_use_as_well_is_asked_and_not_closed(valkey: Server) -> None:
    url = f"redis://127.0.0.1:{valkey.port}?budget=20"
    before = connections(valkey)
    app = FastAPI()

    @app.get("/x")
    async def search() -> None: ...

    async def live() -> tuple[bool, int, int]:
        keeper = AsyncGatekeeper(Rules([Rule("all", limit="1/h")]), url)
        configure(app, keeper)
        entry = await keeper.enter(Asked("GET", "/x"))
        answer = await Caller(app, "/x")()
        await shut(app)
        left = len(connections(valkey) - before)
        await keeper.close()
        return bool(entry), answer.status, left

    assert asyncio.run(live()) == (True, 429, 1)


def test_a_sub_application_goes_by_what_it_is_mounted_in(clock: ManualClock) -> None:
    app, inner = configured(clock), FastAPI()
    app.mount("/v1", inner)

    @inner.get("/x")
    @limited("1/min", counts={"status": "2xx"})
    async def search() -> None: ...

    assert statuses(app, "/v1/x", "/v1/x") == [200, 429]
    assert call(app, "/v1/x").headers[b"content-type"] == b"application/problem+json"
    clock.advance(60.0)
    assert call(app, "/v1/x").status == 200


def test_a_sub_application_that_is_configured_goes_by_its_own(clock: ManualClock) -> None:
    app, inner = configured(clock, Rule("outer", limit="5/s")), configured(clock)
    app.mount("/v1", inner)

    @inner.get("/x", dependencies=[Depends(limit("9/s"))])
    async def search() -> None: ...

    told = [value for name, value in call(app, "/v1/x").sent[0]["headers"] if name == b"ratelimit"]

    assert told == [b'"search";r=8;t=1', b'"outer";r=4;t=1']


def test_a_socket_is_told_of_limits_when_it_is_accepted(clock: ManualClock) -> None:
    app = configured(clock, Rule("sockets", limit="5/s"))

    @app.websocket("/chat", dependencies=[Depends(limit("9/s"))])
    async def chat(socket: WebSocket) -> None:
        await socket.accept()

    answer = call(app, "/chat", says=(CONNECT,), type="websocket")

    assert answer.headers[b"ratelimit"] == b'"sockets";r=4;t=1, "chat";r=8;t=1'


def test_refusals_of_routes_pass_through_other_handlers(clock: ManualClock) -> None:
    app = configured(clock)

    @app.exception_handler(RequestRefused)
    async def handle(request: Request, problem: RequestRefused) -> PlainTextResponse:
        return PlainTextResponse("slowly", 420)

    @app.get("/x")
    @limited("1/h")
    async def search() -> None: ...

    assert statuses(app, "/x", "/x") == [200, 420]


def test_applications_share_a_limit_through_one_store(valkey: Server) -> None:
    # However late the machine is, it is the server that decides.
    url = f"redis://127.0.0.1:{valkey.port}?budget=20"

    def built(own: str = "", **options: Any) -> FastAPI:
        app = FastAPI()
        configure(app, **options)

        @app.get("/x", dependencies=[Depends(limit("3/h", key="client.ip", store=own))])
        async def search() -> None: ...

        return app

    apps = [built(store=url), built(rules=Rules(store=url)), built(own=url), built(store=url)]
    found = []
    for app in apps:
        with serving(app) as site:
            found.append(site.ask("/x").status)

    assert found == [200, 200, 200, 429]


def test_connections_are_closed_when_the_application_shuts_down(valkey: Server) -> None:
    before = connections(valkey)
    app = FastAPI()
    url = f"redis://127.0.0.1:{valkey.port}"
    configure(app, Rules([Rule("all", limit="9/h")]), store=url)

    @app.get("/x")
    @limited("2/h")
    async def search() -> None: ...

    async def live() -> int:
        # In one loop: at its end all connections would be closed anyway.
        await Caller(app, "/x")()
        ours = connections(valkey) - before
        await shut(app)
        await asyncio.to_thread(
            until, lambda: not ours & connections(valkey), "connections to be closed"
        )
        return len(ours)

    # One for the rules in front, one for those of routes.
    assert asyncio.run(live()) == 2


def test_who_is_configured_has_a_handler_as_any_other(clock: ManualClock) -> None:
    assert configured(clock).exception_handlers[RequestRefused] is explain


def test_an_application_may_be_closed_again_and_again(clock: ManualClock) -> None:
    app = configured(clock)

    asyncio.run(app.state.headgate.close())
    asyncio.run(app.state.headgate.close())


@pytest.mark.parametrize("rules", [Rules(), AsyncGatekeeper(Rules())], ids=["rules", "keeper"])
def test_a_store_that_cannot_be_is_refused_at_once(rules: Any) -> None:
    app = FastAPI()
    with pytest.raises(ValueError) as caught:
        configure(app, rules, store="memory")

    assert str(caught.value) == (
        "store is an address such as memory://, shared://web or redis://host, not "
        '"memory"; after the word comes ://'
    )
    assert not hasattr(app.state, "headgate")
