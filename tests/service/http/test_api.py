"""The API, question by question: each row is what is asked, and the whole answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.http.staging import API, TRUST, plan, posted, problem, told
from tests.service.http.staging import HttpServiceHost as Stage

FRESH = {
    "allowed": True, "limit": 100, "remaining": 100, "retry_after": 0.0, "reset_after": 0.0,
    "reason": "", "rule": "api", "degraded": False,
}  # fmt: skip
TAKEN = {**FRESH, "remaining": 99, "reset_after": 0.6}
EMPTY = {**FRESH, "allowed": False, "remaining": 0, "retry_after": 0.6, "reset_after": 60.0,
         "reason": "limit"}  # fmt: skip
HUGE = {**FRESH, "allowed": False, "retry_after": None, "reason": "never"}
BARRED = {**HUGE, "limit": 0, "remaining": 0, "rule": "banned"}
A = {"rule": "api", "key": "a"}
MISSING = problem(404, "Not Found", 'there is no rule "apo"; did you mean api?')
PLAIN = problem(
    404, "Not Found", 'the rule "export" has no limit; hold one of its places.'
)  # fmt: skip

ASKED: list[tuple[str, dict[str, Any], int, dict[str, Any]]] = [
    ("take", A, 200, TAKEN),
    ("take", {**A, "cost": 100}, 200, {**FRESH, "remaining": 0, "reset_after": 60.0}),
    ("take", {**A, "cost": 101}, 429, HUGE),
    ("take", {**A, "cost": 0}, 200, FRESH),
    ("take", {**A, "plan": "vip"}, 200, TAKEN),
    ("take", {"rule": "banned", "key": "a"}, 403, BARRED),
    ("take", {"rule": "api", "key": ""}, 403, {**BARRED, "rule": "api"}),
    ("take", {"rule": "apo", "key": "a"}, 404, MISSING),
    ("take", {"rule": "export", "key": "a"}, 404, PLAIN),
    ("take", {"many": [A, A]}, 200, {"answers": [TAKEN, {**TAKEN, "remaining": 98,
                                                         "reset_after": 1.2}]}),
    ("peek", A, 200, FRESH),
    ("peek", {**A, "cost": 101}, 429, HUGE),
    ("peek", {"many": [A, {**A, "cost": 101}]}, 200, {"answers": [FRESH, HUGE]}),
    ("debit", {**A, "cost": 30}, 200, {**FRESH, "remaining": 70, "reset_after": 18.0}),
    ("debit", {**A, "cost": 101}, 200, {**EMPTY, "retry_after": 0.6, "reset_after": 60.6}),
    ("refund", A, 200, FRESH),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "said", "status", "expected"), ASKED)
def test_a_question_has_one_answer(
    stage: Stage, verb: str, said: Any, status: int, expected: Any
) -> None:
    answer = stage.post(f"/v1/{verb}", said)

    assert (answer.status, told(answer)) == (status, expected)


def test_an_answer_tells_how_the_limit_stands(stage: Stage) -> None:
    answer = stage.post("/v1/take", A)

    assert answer.headers == (
        ("content-type", "application/json"),
        ("content-length", str(len(answer.body))),
        ("cache-control", "no-store"),
        ("ratelimit-policy", '"api";q=100;w=60'),
        ("ratelimit", '"api";r=99;t=1'),
    )


def test_a_no_says_when_to_come_back(stage: Stage) -> None:
    stage.post("/v1/take", {**A, "cost": 100})

    answer = stage.post("/v1/take", {**A, "cost": 3})

    assert answer.status == 429
    assert told(answer) == {**EMPTY, "retry_after": 1.8}
    assert answer.all("retry-after") == ["2"]
    assert answer.all("ratelimit") == ['"api";r=0;t=2']


def test_what_never_fits_has_no_time_to_come_back(stage: Stage) -> None:
    answer = stage.post("/v1/take", {**A, "cost": 101})

    assert answer.all("retry-after") == []


def test_headers_are_those_that_the_rules_name() -> None:
    with Stage(plan(headers=["draft-06", "x-delta"])) as stage:
        answer = stage.post("/v1/take", A)

    assert answer.headers[3:] == (
        ("ratelimit-limit", "100"),
        ("ratelimit-remaining", "99"),
        ("ratelimit-reset", "1"),
        ("ratelimit-policy", "100;w=60"),
        ("x-ratelimit-limit", "100"),
        ("x-ratelimit-remaining", "99"),
        ("x-ratelimit-reset", "1"),
    )


def test_a_rule_may_keep_quiet() -> None:
    with Stage(plan({**API, "headers": False})) as stage:
        answer = stage.post("/v1/take", A)

    assert [name for name, _ in answer.headers] == [
        "content-type", "content-length", "cache-control",
    ]  # fmt: skip


def test_a_rule_says_what_its_questions_cost() -> None:
    with Stage(plan({**API, "cost": 5})) as stage:
        assert told(stage.post("/v1/take", A))["remaining"] == 95
        assert told(stage.post("/v1/take", {**A, "cost": 1}))["remaining"] == 94


def test_plans_and_overrides_hold() -> None:
    rules = plan(
        {**API, "overrides": {"boss": {"limit": "1000/min"}}},
        plans={"vip": "unlimited", "pro": {"api": {"limit": "500/min"}}},
    )
    with Stage(rules) as stage:
        limits = [
            told(stage.post("/v1/take", {**A, **more}))["limit"]
            for more in ({}, {"plan": "pro"}, {"key": "boss"}, {"plan": "vip"})
        ]

    assert limits == [100, 500, 1000, (1 << 53) - 1]


def test_a_limit_of_several_tells_of_all() -> None:
    with Stage(plan({**API, "limit": ["100/min", "1000/h"]})) as stage:
        answer = stage.post("/v1/take", A)

    assert answer.all("ratelimit-policy") == ['"api:1";q=100;w=60, "api:2";q=1000;w=3600']
    assert told(answer)["rule"] == "api:1"


def test_who_is_tried_out_only_is_let_in() -> None:
    with Stage(plan({**API, "mode": "shadow", "limit": "1/min"})) as stage:
        answers = [stage.post("/v1/take", A).status for _ in range(3)]

        rule = told(stage.get("/v1/rules/api"))

    assert answers == [200, 200, 200]
    assert (rule["passed"], rule["refused"], rule["shadowed"]) == (3, 0, 2)


def test_a_key_is_forgotten(stage: Stage) -> None:
    stage.post("/v1/take", {**A, "cost": 100})

    answer = stage.post("/v1/reset", A)

    assert (answer.status, answer.body) == (204, b"")
    assert told(stage.post("/v1/peek", A)) == FRESH


def test_the_state_of_a_key_is_told_and_nothing_spent(stage: Stage) -> None:
    stage.post("/v1/take", {"rule": "api", "key": "a/b c", "cost": 100})

    answers = [stage.get("/v1/keys/api/a%2Fb%20c") for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 200]
    expected = {**FRESH, "remaining": 0, "reset_after": 60.0}
    assert [told(answer) for answer in answers] == [expected, expected]


def test_nothing_of_many_is_spent_unless_all_can_be_asked(stage: Stage) -> None:
    answer = stage.post("/v1/take", {"many": [A, {"rule": "apo", "key": "a"}]})

    said = 'there is no rule "apo"; did you mean api?'
    assert (answer.status, told(answer)) == (
        404,
        problem(404, "Not Found", f"many[1].rule: {said}",
                problems=[{"at": "many[1].rule", "says": said}]),
    )  # fmt: skip
    assert told(stage.post("/v1/peek", A)) == FRESH


def test_a_thousand_are_asked_at_once(stage: Stage) -> None:
    said = {"many": [{"rule": "api", "key": f"user:{number}"} for number in range(1000)]}

    answers = told(stage.post("/v1/take", said))["answers"]

    assert answers == [TAKEN] * 1000


def test_what_is_booked_is_kept_or_given_back(stage: Stage) -> None:
    first = told(stage.post("/v1/reserve", {**A, "cost": 60}))
    second = told(stage.post("/v1/reserve", {**A, "cost": 60, "timeout": 20}))
    third = stage.post("/v1/reserve", {**A, "cost": 60, "timeout": 5})

    assert (first["allowed"], first["wait"], first["remaining"]) == (True, 0.0, 40)
    assert (second["allowed"], second["wait"]) == (True, 12.0)
    assert (third.status, told(third)["allowed"], third.all("retry-after")) == (429, False, ["48"])

    committed = stage.post("/v1/commit", {"id": first["id"], "cost": 50})
    cancelled = stage.post("/v1/cancel", {"id": second["id"]})
    again = stage.post("/v1/cancel", {"id": second["id"]})

    assert (committed.status, cancelled.status, again.status) == (200, 200, 410)
    assert told(cancelled)["remaining"] == 50
    assert told(again) == problem(410, "Gone", "the id was committed or cancelled before.")


def test_a_forged_id_is_none(stage: Stage) -> None:
    said = problem(404, "Not Found", "the id is none of ours; show one exactly as it was given.")

    for verb in ("commit", "cancel", "renew", "release"):
        answer = stage.post(f"/v1/{verb}", {"id": "abc"})
        assert (answer.status, told(answer)) == (404, said)


def test_places_are_held_renewed_and_given_back(stage: Stage) -> None:
    asked = {"rule": "export", "key": "a", "ttl": 10}
    held = [stage.post("/v1/hold", asked) for _ in range(6)]
    places = [told(one)["id"] for one in held[:5]]

    assert [one.status for one in held] == [200] * 5 + [429]
    assert (told(held[0])["expires_in"], told(held[0])["remaining"]) == (10.0, 4)
    assert held[5].all("retry-after") == ["1"]

    stage.tick(9.0)
    renewed = stage.post("/v1/renew", {"id": places[0], "ttl": 20})
    released = stage.post("/v1/release", {"id": places[1]})
    stage.tick(2.0)
    late = stage.post("/v1/renew", {"id": places[2]})

    assert (renewed.status, released.status) == (204, 204)
    assert (late.status, told(late)["detail"]) == (
        410, "The place is lost: its time was over, or it was given back before.",
    )  # fmt: skip
    assert told(stage.post("/v1/hold", asked))["remaining"] == 3


def test_rules_are_told(stage: Stage) -> None:
    stage.post("/v1/take", A)
    stage.post("/v1/take", {**A, "cost": 101})

    found = told(stage.get("/v1/rules"))

    assert found["version"] == stage.hall.keeper.version
    assert [rule["name"] for rule in found["rules"]] == ["api", "export", "banned"]
    assert found["rules"][0] == told(stage.get("/v1/rules/api"))
    api = found["rules"][0]
    assert (api["key"], api["passed"], api["refused"]) == (["header.x-user"], 1, 1)


def test_a_rule_that_is_not_there_is_not_told_of(stage: Stage) -> None:
    answer = stage.get("/v1/rules/apo")

    assert (answer.status, told(answer)) == (404, MISSING)


def test_it_is_told_who_asks_most(stage: Stage) -> None:
    for key, times in (("a", 3), ("b", 5)):
        for _ in range(times):
            stage.post("/v1/take", {"rule": "api", "key": key, "cost": 30})
    stage.post("/v1/take", {"many": [{"rule": "api", "key": "c"}]})

    answer = told(stage.get("/v1/top?rule=api&limit=2"))

    assert answer == {
        "rule": "api", "seconds": 0.0, "total": 9,
        "keys": [{"key": "b", "asked": 5, "error": 0, "refused": 2},
                 {"key": "a", "asked": 3, "error": 0, "refused": 0}],
    }  # fmt: skip


def test_a_request_is_asked_about(stage: Stage) -> None:
    request = {
        "method": "post", "path": "/items%2F1", "query": "a=b", "client": "203.0.113.7",
        "headers": {"X-User": "42", "Accept": ["text/html", "*/*"]},
    }  # fmt: skip
    answer = stage.post("/v1/check", {"request": request})

    assert (answer.status, told(answer)) == (
        200,
        {"allowed": True, "status": 200,
         "headers": {"ratelimit-policy": '"api";q=100;w=60', "ratelimit": '"api";r=99;t=1'},
         "body": "", "rule": "", "reason": "", "retry_after": 0.0, "shadowed": [],
         "version": stage.hall.keeper.version},
    )  # fmt: skip


def test_a_request_that_is_refused_is_given_its_answer(stage: Stage) -> None:
    asked = {"request": {"headers": {"x-user": "42"}}}
    stage.post("/v1/take", {"rule": "api", "key": "42", "cost": 100})

    answer = told(stage.post("/v1/check", asked))

    assert (answer["allowed"], answer["status"], answer["rule"]) == (False, 429, "api")
    assert (answer["reason"], answer["retry_after"]) == ("limit", 0.6)
    assert answer["headers"]["retry-after"] == "1"
    assert '"violated-policies":["api"]' in answer["body"]


CLIENT = {"name": "api", "key": "client.ip", "limit": "100/min"}
PEOPLE = [
    ({"client": "203.0.113.7"}, "203.0.113.7"),
    ({"client": "2001:db8::1"}, "2001:db8::/64"),
    ({"client": "127.0.0.1", "headers": {"x-forwarded-for": "9.9.9.9, 203.0.113.7"}},
     "203.0.113.7"),
    ({"client": "203.0.113.7", "headers": {"x-forwarded-for": "9.9.9.9"}}, "203.0.113.7"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "key"), PEOPLE)
def test_the_client_of_a_request_is_who_rules_take_it_for(said: Any, key: str) -> None:
    with Stage(plan(CLIENT, client=TRUST)) as stage:
        stage.post("/v1/check", {"request": said})

        assert told(stage.get("/v1/top?rule=api"))["keys"][0]["key"] == key


def test_places_of_a_request_are_given_back_at_once() -> None:
    with Stage(plan({"name": "room", "concurrent": 1})) as stage:
        for _ in range(3):
            assert told(stage.post("/v1/check", {"request": {}}))["allowed"]


def test_it_is_said_how_a_request_ends() -> None:
    rule = {**API, "limit": "1/min", "counts": {"status": [401]}}
    with Stage(plan(rule)) as stage:
        request = {"request": {"headers": {"x-user": "42"}}}
        answers = [
            told(stage.post("/v1/check", {**request, "status": status}))["allowed"]
            for status in (200, 200, 401, 401)
        ]

    assert answers == [True, True, True, False]


def test_changed_rules_count_at_once(stage: Stage) -> None:
    stage.post("/v1/take", A)

    async def change() -> None:
        stage.hall.keeper.change(plan({**API, "limit": "10/min"}, headers=["draft-06"]))

    stage.call(change())
    answer = stage.post("/v1/take", A)

    assert told(answer)["limit"] == 10
    assert answer.all("ratelimit-limit") == ["10"]


def test_while_no_rules_are_asked_everybody_is_let_in(stage: Stage) -> None:
    stage.hall.keeper.enabled = False

    assert stage.post("/v1/take", {**A, "cost": 101}).status == 200


@pytest.mark.parametrize("target", ["/health", "/ready", "/healthcheck", "/openapi.json"])
def test_one_can_see_that_it_is_well(stage: Stage, target: str) -> None:
    answer, head = stage.get(target), stage.ask("HEAD", target)

    assert (answer.status, head.status, head.body) == (200, 200, b"")
    assert head.headers == answer.headers


def test_what_envoys_reference_answers_is_mounted(stage: Stage) -> None:
    class Mounted:
        def json(self, body: bytes) -> tuple[int, bytes]:
            return 429, b'{"asked":%b}' % body

        def rlconfig(self) -> str:
            return "domain.key: unit=MINUTE\n"

    without = stage.send(posted("/json", {}))
    stage.hall.things["ratelimit"] = Mounted()
    answer, config = stage.post("/json", {"domain": "d"}), stage.get("/rlconfig")

    assert (without.status, told(without)["detail"]) == (404, "Nobody answers Envoy's calls here.")
    assert (answer.status, answer.body) == (429, b'{"asked":{"domain": "d"}}')
    assert answer.all("content-type") == ["application/json"]
    assert (config.status, config.body) == (200, b"domain.key: unit=MINUTE\n")
