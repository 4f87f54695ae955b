"""Who may ask: by a token, or by the port they come in by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.http.staging import API, plan, problem, told
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.test_auth import CLIENT, ME, NGINX

SHOP, BILLING, PROXY = "shop-shop-shop-shop", "bill-bill-bill-bill", "proxy-proxy-proxy-proxy"
OTHER = {"name": "other", "limit": "100/min"}
CALLERS = {
    "shop": {"token": SHOP, "rules": "api", "limit": "3/min"},
    "billing": {"token": BILLING},
}
A = {"rule": "api", "key": "a"}
HIDDEN = 'The caller "shop" may not ask by the rule "other".'
ALL = 'The caller "shop" may not ask by all rules at once.'


def bearer(token: str) -> str:
    return f"Bearer {token}"


@pytest.fixture
def guarded() -> Iterator[Stage]:
    """A service that answers two callers."""
    with Stage(plan(API, OTHER, service={"callers": CALLERS}, client=ME)) as stage:
        yield stage


NAMELESS = [
    ({}, "Say who you are, with authorization: Bearer TOKEN.", 'Bearer realm="headgate"'),
    ({"authorization": "Basic abc"}, "Say who you are, with authorization: Bearer TOKEN.",
     'Bearer realm="headgate"'),
    ({"x_headgate_token": SHOP}, "Say who you are, with authorization: Bearer TOKEN.",
     'Bearer realm="headgate"'),
    ({"authorization": "Bearer nobodys-token-abc"}, "The token is not known here.",
     'Bearer realm="headgate", error="invalid_token"'),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "detail", "challenge"), NAMELESS)
def test_who_is_nobody_is_told_so(
    guarded: Stage, headers: dict[str, str], detail: str, challenge: str
) -> None:
    for answer in (
        guarded.post("/v1/take", A, **headers),
        guarded.post("/v1/take", {"many": [A]}, **headers),
        guarded.get("/v1/rules", **headers),
    ):
        assert (answer.status, told(answer)) == (401, problem(401, "Unauthorized", detail))
        assert answer.all("www-authenticate") == [challenge]


@pytest.mark.parametrize("target", ["/health", "/ready", "/healthcheck", "/openapi.json"])
def test_how_it_is_anybody_may_see(guarded: Stage, target: str) -> None:
    assert guarded.get(target).status == 200


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
def test_a_caller_is_known_by_its_token(guarded: Stage, scheme: str) -> None:
    assert guarded.post("/v1/take", A, authorization=f"{scheme}{SHOP}").status == 200


REFUSED: list[tuple[str, Any, str]] = [
    ("take", {"rule": "other", "key": ""}, HIDDEN),
    ("take", {"many": [A, {"rule": "other", "key": ""}]}, HIDDEN),
    ("peek", {"rule": "other", "key": ""}, HIDDEN),
    ("debit", {"rule": "other", "key": ""}, HIDDEN),
    ("refund", {"rule": "other", "key": ""}, HIDDEN),
    ("reset", {"rule": "other", "key": ""}, HIDDEN),
    ("reserve", {"rule": "other", "key": ""}, HIDDEN),
    ("hold", {"rule": "other", "key": ""}, HIDDEN),
    ("check", {"request": {}}, ALL),
]


@pytest.mark.parametrize(("verb", "said", "detail"), REFUSED)
def test_a_caller_asks_by_its_rules_alone(
    guarded: Stage, verb: str, said: Any, detail: str
) -> None:
    answer = guarded.post(f"/v1/{verb}", said, authorization=bearer(SHOP))

    assert (answer.status, told(answer)) == (403, problem(403, "Forbidden", detail))
    assert told(guarded.get("/v1/keys/other/", authorization=bearer(BILLING)))["remaining"] == 100


@pytest.mark.parametrize("method", ["POST /json", "GET /rlconfig"])
def test_what_is_no_rule_is_seen_by_those_who_may_ask_all(guarded: Stage, method: str) -> None:
    answers = [
        guarded.ask(*method.split(), authorization=bearer(token)) for token in (SHOP, BILLING)
    ]

    # There is nobody here who answers Envoy.
    assert [answer.status for answer in answers] == [403, 404]
    assert told(answers[0])["detail"] == ALL


@pytest.mark.parametrize("target", ["/v1/rules/other", "/v1/keys/other/", "/v1/top?rule=other"])
def test_a_caller_sees_its_rules_alone(guarded: Stage, target: str) -> None:
    rules = told(guarded.get("/v1/rules", authorization=bearer(SHOP)))["rules"]

    assert [rule["name"] for rule in rules] == ["api"]
    assert told(guarded.get(target, authorization=bearer(SHOP)))["detail"] == HIDDEN


def test_an_id_is_good_for_who_may_ask_by_its_rule(guarded: Stage) -> None:
    given = guarded.post("/v1/reserve", {"rule": "other", "key": ""}, authorization=bearer(BILLING))

    answer = guarded.post("/v1/cancel", {"id": told(given)["id"]}, authorization=bearer(SHOP))

    assert (answer.status, told(answer)["detail"]) == (403, HIDDEN)


def test_a_caller_has_a_limit_of_its_own(guarded: Stage) -> None:
    answers = [guarded.post("/v1/take", A, authorization=bearer(SHOP)) for _ in range(4)]

    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    said = 'The caller "shop" asks too much of the service.'
    assert told(answers[3]) == problem(429, "Too Many Requests", said)
    assert answers[3].all("retry-after") == ["20"]
    found = told(guarded.get("/v1/keys/api/a", authorization=bearer(BILLING)))
    assert found["remaining"] == 97


def test_many_questions_count_as_many(guarded: Stage) -> None:
    answers = [
        guarded.post("/v1/take", {"many": [A] * count}, authorization=bearer(SHOP)).status
        for count in (4, 3, 1)
    ]

    assert answers == [429, 200, 429]


def test_who_comes_in_by_a_port_is_known_by_it() -> None:
    rules = plan(API, OTHER, service={"callers": CALLERS})
    with Stage(rules, caller="shop") as stage:
        mine = stage.post("/v1/take", A)
        others = stage.post("/v1/take", {"rule": "other", "key": ""})
        shown = stage.post("/v1/take", {"rule": "other", "key": ""}, authorization=bearer(BILLING))
        forged = stage.post("/v1/take", A, authorization=bearer("nobodys-token-abc"))

    assert [one.status for one in (mine, others, shown, forged)] == [200, 403, 200, 401]


def test_a_caller_who_is_one_no_more_is_nobody(guarded: Stage) -> None:
    with guarded.talk() as talk:
        for expected in (200, 401):
            from_shop = {"authorization": bearer(SHOP)}
            assert guarded.post("/v1/take", A, **from_shop).status == expected
            guarded.hall.callers.change({"billing": guarded.hall.keeper.rules.service.callers[
                "billing"]})  # fmt: skip
        assert talk.finish() == b""


def test_a_proxy_shows_its_token_beside_what_its_clients_show() -> None:
    callers = {"proxy": {"token": PROXY}}
    with Stage(plan(CLIENT, client=ME, service={"callers": callers})) as stage:
        known = stage.get("/v1/auth", **NGINX, x_headgate_token=PROXY, authorization="Bearer x")
        unknown = stage.get("/v1/auth", **NGINX, authorization=bearer(PROXY))
        wrong = stage.get("/v1/auth", **NGINX, x_headgate_token="x" * 20)

    assert (known.status, unknown.status, wrong.status) == (200, 401, 401)
    assert told(unknown)["detail"] == "Say who you are, with x-headgate-token: TOKEN."


def test_clients_of_a_proxy_that_asks_too_much_are_not_let_in_by_it() -> None:
    callers = {"proxy": {"token": PROXY, "limit": "1/min"}}
    with Stage(plan(CLIENT, client=ME, service={"callers": callers})) as stage:
        plainly, chosen = [
            [stage.get(target, **NGINX, x_headgate_token=PROXY) for _ in range(2)][1]
            for target in ("/v1/auth", "/v1/auth?deny=403")
        ]

    assert (plainly.status, plainly.all("retry-after")) == (429, ["60"])
    assert (chosen.status, chosen.all("retry-after")) == (403, ["60"])
    assert chosen.all("headgate-status") == ["429"]


def test_where_anybody_may_ask_tokens_do_not_matter() -> None:
    with Stage(plan()) as stage:
        assert stage.post("/v1/take", A, authorization="Bearer of-something-else").status == 200
