"""What a proxy asks before it lets a request in: what it has to say, and what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.service.http.fronts import DEPLOY
from tests.service.http.staging import TRUST, asked, plan, problem, told
from tests.service.http.staging import HttpServiceHost as Stage

CLIENT = {"name": "api", "key": "client.ip", "limit": "2/min"}
ME = {"trusted_proxies": ["127.0.0.1"]}
NGINX = {"x_original_method": "GET", "x_original_uri": "/a?b=c", "x_real_ip": "203.0.113.7"}
# Traefik's pkg/middlewares/auth/forward.go, Caddy's modules/caddyhttp/reverseproxy/forwardauth and
# APISIX's plugins/forward-auth.lua send these.
TRAEFIK = {
    "x_forwarded_method": "GET", "x_forwarded_proto": "https", "x_forwarded_host": "a.test",
    "x_forwarded_port": "443", "x_forwarded_server": "traefik-0", "x_forwarded_uri": "/a?b=c",
    "x_forwarded_for": "203.0.113.7", "x_real_ip": "203.0.113.7", "accept_encoding": "gzip",
}  # fmt: skip
CADDY = {
    "x_forwarded_method": "GET", "x_forwarded_proto": "https", "x_forwarded_host": "a.test",
    "x_forwarded_uri": "/a?b=c", "x_forwarded_for": "203.0.113.7", "via": "1.1 Caddy",
}  # fmt: skip
APISIX = {
    "x_forwarded_proto": "https", "x_forwarded_method": "GET", "x_forwarded_host": "a.test",
    "x_forwarded_uri": "/a?b=c", "x_forwarded_for": "203.0.113.7",
}  # fmt: skip
ENVOY = {"x_forwarded_for": "203.0.113.7", "x_forwarded_proto": "https", "host": "a.test",
         "x_envoy_internal": "true"}  # fmt: skip
PROXIES = {
    "nginx": ("/v1/auth", {**NGINX, "host": "a.test", "x_forwarded_proto": "https"}),
    "traefik": ("/v1/auth", TRAEFIK),
    "caddy": ("/v1/auth", CADDY),
    "apisix": ("/v1/auth", APISIX),
    "envoy": ("/v1/auth/a?b=c", ENVOY),
}


@pytest.fixture
def gate() -> Iterator[Stage]:
    """A service that counts clients, and believes who asks from this machine's first address."""
    with Stage(plan(CLIENT, client=ME)) as stage:
        yield stage


@pytest.mark.parametrize("proxy", PROXIES)
def test_every_proxy_is_answered(gate: Stage, proxy: str) -> None:
    target, headers = PROXIES[proxy]
    answers = [gate.get(target, **headers) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[0].headers == (
        ("ratelimit-policy", '"api";q=2;w=60'),
        ("ratelimit", '"api";r=1;t=30'),
        ("cache-control", "no-store"),
        ("content-length", "0"),
    )
    assert answers[2].all("retry-after") == ["30"]
    assert answers[2].all("ratelimit") == ['"api";r=0;t=30']
    assert told(answers[2])["violated-policies"] == ["api"]
    assert told(gate.get("/v1/top?rule=api"))["keys"][0]["key"] == "203.0.113.7"


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("fact", ["method", "path", "host", "scheme", "query.b", "header.x-user"])
def test_rules_see_the_request_and_not_the_proxy(proxy: str, fact: str) -> None:
    target, headers = PROXIES[proxy]
    expected = {"method": "GET", "path": "/a", "host": "a.test", "scheme": "https",
                "query.b": "c", "header.x-user": "42"}[fact]  # fmt: skip
    rule = {"name": "api", "key": fact, "limit": "2/min"}
    with Stage(plan(rule, client=ME)) as stage:
        assert stage.get(target, **headers, x_user="42").status == 200

        assert told(stage.get("/v1/top?rule=api"))["keys"][0]["key"] == expected


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_one_may_ask_with_any_method(gate: Stage, method: str) -> None:
    answer = gate.ask(method, "/v1/auth", **NGINX)

    assert (answer.status, answer.body) == (200, b"")


def test_a_body_that_comes_along_is_not_looked_at(gate: Stage) -> None:
    data = asked("POST", "/v1/auth", **NGINX, content_length="5") + b"hello"

    assert gate.send(data).status == 200


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_a_change_of_protocol_is_asked_about_like_anything(gate: Stage, upgrade: str) -> None:
    answer = gate.get("/v1/auth", **NGINX, connection="upgrade", upgrade=upgrade)

    assert answer.status == 200


def test_the_status_for_no_can_be_chosen(gate: Stage) -> None:
    answers = [gate.get("/v1/auth?deny=403", **NGINX) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 403]
    assert answers[2].headers == (
        ("headgate-status", "429"),
        ("ratelimit-policy", '"api";q=2;w=60'),
        ("ratelimit", '"api";r=0;t=30'),
        ("content-length", "0"),
        ("cache-control", "no-store"),
        ("retry-after", "30"),
    )
    assert answers[2].body == b""


OVER: list[tuple[dict[str, Any], int, dict[str, str], bytes]] = [
    ({"redirect": {"to": "https://a.test/wait", "status": 303}}, 303,
     {"location": "https://a.test/wait"}, b""),
    ({"degrade": {"status": 503, "body": "less", "headers": {"x-less": "yes"}}}, 503,
     {"x-less": "yes", "content-type": "text/plain; charset=utf-8"}, b"less"),
    ({"reject": {"status": 509}}, 509, {"retry-after": "30"}, b"..."),
]  # fmt: skip


@pytest.mark.parametrize(("over", "status", "headers", "body"), OVER)
def test_what_a_rule_answers_is_passed_on(
    over: dict[str, Any], status: int, headers: dict[str, str], body: bytes
) -> None:
    with Stage(plan({**CLIENT, "limit": "1/30s", "over": over}, client=ME)) as stage:
        stage.get("/v1/auth", **NGINX)
        answer = stage.get("/v1/auth", **NGINX)
        chosen = stage.get("/v1/auth?deny=401", **NGINX)

    assert answer.status == status
    assert headers.items() <= dict(answer.headers).items()
    assert body in (answer.body, b"...")
    assert (chosen.status, chosen.body, chosen.all("location")) == (401, b"", [])
    assert chosen.all("headgate-status") == [str(status)]


YES: list[tuple[dict[str, Any], int, str, bytes]] = [
    ({**CLIENT, "limit": "1/30s", "over": {"degrade": {"status": 203, "body": "less"}}}, 429,
     "203", b"less"),
    ({**CLIENT, "limit": "1/30s", "over": {"reject": {"status": 200}}}, 429, "200", b"..."),
    ({"name": "ban", "deny": {"status": 200, "body": "no"}}, 403, "200", b"no"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "status", "meant", "body"), YES)
def test_a_no_that_a_proxy_would_take_for_a_yes_is_told_as_a_no(
    rule: dict[str, Any], status: int, meant: str, body: bytes
) -> None:
    with Stage(plan(rule, client=ME)) as stage:
        stage.get("/v1/auth", **CADDY)
        answer = stage.get("/v1/auth", **CADDY)

    assert (answer.status, answer.all("headgate-status")) == (status, [meant])
    assert body in (answer.body, b"...")


HOPS = [
    (1, "9.9.9.9, 8.8.8.8", "203.0.113.7"),
    (2, "9.9.9.9, 8.8.8.8", "8.8.8.8"),
    (3, "9.9.9.9, 8.8.8.8", "9.9.9.9"),
    (3, "8.8.8.8", "8.8.8.8"),
]


@pytest.mark.parametrize(("hops", "line", "key"), HOPS)
def test_who_asks_as_nginx_does_is_the_first_of_the_proxies_that_are_counted(
    hops: int, line: str, key: str
) -> None:
    with Stage(plan(CLIENT, client={"trusted_hops": hops})) as stage:
        stage.get("/v1/auth", **NGINX, x_forwarded_for=line)

        assert told(stage.get("/v1/top?rule=api"))["keys"][0]["key"] == key


def test_where_proxies_are_counted_a_client_has_no_say_in_its_plan() -> None:
    rules = plan({**CLIENT, "limit": "1/min"}, plans={"vip": "unlimited"}, plan="header.x-plan",
                 client={"trusted_hops": 1, "trusted_proxies": ["127.0.0.1"]})  # fmt: skip
    with Stage(rules) as stage:
        answers = [stage.get("/v1/auth", **NGINX, x_plan="vip").status for _ in range(2)]

    assert answers == [200, 429]


def test_a_problem_is_said_as_the_client_likes_it(gate: Stage) -> None:
    answers = [gate.get("/v1/auth", **NGINX, accept="text/html,*/*;q=0.8") for _ in range(3)]

    assert answers[2].all("content-type") == ["text/html; charset=utf-8"]


def test_only_those_are_believed_whom_the_rules_trust() -> None:
    with Stage(plan(CLIENT, client={"trusted_proxies": ["10.0.0.0/8"]})) as stage:
        answers = [stage.get(target, **headers) for target, headers in PROXIES.values()]

        said = (
            '"127.0.0.1" is not among trusted_proxies; name the proxy\'s network there, as in '
            "client: {trusted_proxies: [10.0.0.0/8]}."
        )
        assert [told(answer) for answer in answers] == [problem(403, "Forbidden", said)] * 5
        assert told(stage.get("/v1/top?rule=api"))["total"] == 0


PEOPLE = [
    # nginx says who has connected to it; what that one says of others is not believed.
    ("/v1/auth", {**NGINX, "x_forwarded_for": "9.9.9.9"}, "203.0.113.7"),
    # Unless it is a proxy that is trusted as well.
    ("/v1/auth", {**NGINX, "x_real_ip": "127.0.0.1", "x_forwarded_for": "9.9.9.9, 8.8.8.8"},
     "8.8.8.8"),
    # The others say it in a list, at whose end they stand.
    ("/v1/auth", {**CADDY, "x_forwarded_for": "9.9.9.9, 203.0.113.7"}, "203.0.113.7"),
    ("/v1/auth", {**CADDY, "x_forwarded_for": "9.9.9.9, 127.0.0.1"}, "9.9.9.9"),
    # What is no address is nobody else's.
    ("/v1/auth", {**CADDY, "x_forwarded_for": "9.9.9.9, me"}, "127.0.0.1"),
    ("/v1/auth", {**NGINX, "x_real_ip": "me"}, "local"),
    ("/v1/auth", {**NGINX, "x_real_ip": "2001:db8::1"}, "2001:db8::/64"),
    ("/v1/auth/", {**ENVOY, "x_real_ip": "9.9.9.9", "x_original_uri": "/b"}, "203.0.113.7"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "headers", "key"), PEOPLE)
def test_nobody_is_whom_they_say(gate: Stage, target: str, headers: Any, key: str) -> None:
    gate.get(target, **headers)

    assert told(gate.get("/v1/top?rule=api"))["keys"][0]["key"] == key


def without(headers: dict[str, str], name: str) -> dict[str, str]:
    return {word: value for word, value in headers.items() if word != name}


UNTOLD = (
    "No header says what the proxy was asked for; have it send x-original-method, x-original-uri "
    "and x-real-ip, as for nginx, or x-forwarded-method, -uri, -host, -proto and -for."
)
LACKS = "The header {} is missing; have the proxy send it, as told in deploy/."
UNCLEAR: list[tuple[dict[str, str], str]] = [
    ({}, UNTOLD),
    ({"x_forwarded_for": "203.0.113.7", "x_real_ip": "203.0.113.7"}, UNTOLD),
    *[(without(NGINX, name), LACKS.format(name.replace("_", "-"))) for name in NGINX],
    *[(without(APISIX, name), LACKS.format(name.replace("_", "-"))) for name in APISIX],
    ({**NGINX, "x_real_ip": ""}, LACKS.format("x-real-ip")),
]


@pytest.mark.parametrize(("headers", "detail"), UNCLEAR)
def test_what_is_missing_is_said(gate: Stage, headers: dict[str, str], detail: str) -> None:
    answers = [gate.get(target, **headers) for target in ("/v1/auth", "/v1/auth?deny=403")]

    expected = problem(400, "Bad Request", detail)
    assert [(answer.status, told(answer)) for answer in answers] == [(400, expected)] * 2


BOTH = (
    "There are X-Original and X-Forwarded headers, which may tell of two requests; have the proxy "
    "send the one and take the other off."
)
TARGET = "x-original-uri is a target such as /a?b=c, not"
MUDDLED: list[tuple[dict[str, str], str]] = [
    ({**NGINX, "x_forwarded_uri": "/b"}, BOTH),
    ({**NGINX, "x_forwarded_uri": "/b?deny=403"}, BOTH),
    ({**NGINX, "x_forwarded_method": "GET"}, BOTH),
    ({**CADDY, "x_original_uri": "/b"}, BOTH),
    ({**NGINX, "x_original_uri": "a"}, f'{TARGET} "a".'),
    ({**NGINX, "x_original_uri": "/a/../b"}, f'{TARGET} "/a/../b".'),
    ({**NGINX, "x_original_uri": "/a/%2e%2e;x/b"}, f'{TARGET} "/a/%2e%2e;x/b".'),
    ({**NGINX, "x_original_uri": "http://b.test/a"}, f'{TARGET} "http://b.test/a".'),
    ({**NGINX, "x_original_method": "get it"},
     'x-original-method is a method such as GET, not "get it".'),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "detail"), MUDDLED)
def test_what_may_be_a_clients_doing_is_no_way_past_a_proxy_that_lets_errors_pass(
    gate: Stage, headers: dict[str, str], detail: str
) -> None:
    plainly = gate.get("/v1/auth", **headers)
    chosen = gate.get("/v1/auth?deny=403", **headers)

    assert (plainly.status, told(plainly)) == (400, problem(400, "Bad Request", detail))
    assert (chosen.status, told(chosen)) == (403, problem(403, "Forbidden", detail))


@pytest.mark.parametrize("name", ["x-real-ip", "x-forwarded-proto"])
def test_a_header_that_is_there_twice_is_not_chosen_from(gate: Stage, name: str) -> None:
    more = b"" if name.replace("-", "_") in NGINX else b"x-forwarded-proto: https\r\n"
    data = asked("GET", "/v1/auth?deny=403", **NGINX).replace(
        b"\r\n\r\n", b"\r\n%b%b: 9.9.9.9\r\n\r\n" % (more, name.encode())
    )

    answer = gate.send(data)

    assert (answer.status, told(answer)["detail"]) == (
        403, f"There are 2 headers {name}; the proxy sends one.",
    )  # fmt: skip


MUCH = {
    "lines": asked("GET", "/v1/auth?deny=403", **NGINX)[:-2] + b"a: b\r\n" * 201 + b"\r\n",
    "long": asked("GET", "/v1/auth?deny=403", **NGINX, cookie="a" * 70_000),
    "odd": asked("GET", "/v1/auth?deny=403", **NGINX)[:-2] + b"x_y: b\r\n\r\n",
    "body": asked("POST", "/v1/auth?deny=403", **NGINX, content_length="100000"),
}


@pytest.mark.parametrize("data", MUCH.values(), ids=MUCH)
def test_what_a_client_has_sent_too_much_of_is_a_no(gate: Stage, data: bytes) -> None:
    assert gate.send(data).status == 403


QUERIES = [
    ("deny=200", 'deny is a status from 400 to 599, not "200".'),
    ("deny=4030", 'deny is a status from 400 to 599, not "4030".'),
    ("status=x", 'status is a status from 200 to 599, not "x".'),
    ("denie=403", 'There is no parameter "denie"; there are deny, rule, status.'),
]


@pytest.mark.parametrize(("query", "detail"), QUERIES)
def test_a_parameter_that_is_none_is_said_to_be_none(gate: Stage, query: str, detail: str) -> None:
    answer = gate.get(f"/v1/auth?{query}", **NGINX)

    assert (answer.status, told(answer)["detail"]) == (400, detail)


def test_a_query_that_a_proxy_passes_on_is_the_clients(gate: Stage) -> None:
    headers = {**CADDY, "x_forwarded_uri": "/a?rule=other&deny=403"}
    answers = [gate.get("/v1/auth?rule=other&deny=403", **headers) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]


def test_one_rule_alone_can_be_asked() -> None:
    strict = {"name": "login", "key": "client.ip", "limit": "1/min", "match": {"path": "/login"}}
    with Stage(plan(CLIENT, strict, client=ME)) as stage:
        login = {**NGINX, "x_original_uri": "/login"}
        answers = [
            stage.get("/v1/auth?rule=login", **headers).status
            for headers in (login, login, NGINX, NGINX, NGINX)
        ]
        nowhere = stage.get("/v1/auth?rule=logn", **login)

    assert answers == [200, 429, 200, 200, 200]
    said = 'there is no rule "logn"; did you mean login?'
    assert (nowhere.status, told(nowhere)["detail"]) == (404, said)


def test_places_are_given_back_at_once() -> None:
    with Stage(plan({"name": "room", "concurrent": 1}, client=ME)) as stage:
        assert [stage.get("/v1/auth", **NGINX).status for _ in range(3)] == [200] * 3


def test_it_is_said_how_requests_are_taken_to_end() -> None:
    rule = {**CLIENT, "limit": "1/min", "counts": {"status": [401]}}
    with Stage(plan(rule, client=ME)) as stage:
        answers = [
            stage.get(f"/v1/auth?status={status}", **NGINX).status
            for status in (200, 200, 401, 401)
        ]

    assert answers == [200, 200, 200, 429]


def test_who_is_made_to_wait_is_answered_when_it_is_time() -> None:
    rule = {**CLIENT, "limit": "1/min", "over": {"wait": {"timeout": "2min"}}}
    with Stage(plan(rule, client=ME)) as stage:
        begun = stage.clock.now()
        answers = [stage.get("/v1/auth", **NGINX).status for _ in range(2)]

        assert (answers, stage.clock.now() - begun) == ([200, 200], 60_000_000)


def test_many_wait_for_each_other_on_one_connection() -> None:
    with Stage(plan({**CLIENT, "limit": "100/min"}, client=TRUST)) as stage, stage.talk() as talk:
        talk.send(asked("GET", "/v1/auth", **NGINX) * 10)

        assert [talk.hear().status for _ in range(10)] == [200] * 10


def test_what_is_shipped_for_proxies_that_are_not_here_asks_as_they_do() -> None:
    traefik = yaml.safe_load((DEPLOY / "traefik/headgate.yaml").read_text())
    apisix = yaml.safe_load((DEPLOY / "apisix/headgate.yaml").read_text())

    asks = traefik["http"]["middlewares"]["headgate"]["forwardAuth"]
    assert asks["address"].endswith(":8081/v1/auth")
    assert asks["trustForwardHeader"] is False
    asks = apisix["routes"][0]["plugins"]["forward-auth"]
    assert asks["uri"].endswith(":8081/v1/auth")
    assert not [name for name in asks["request_headers"] if name.startswith("X-Original")]
