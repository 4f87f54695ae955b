"""The OpenAPI document: it is one, it names every route, and every example in it is played."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from headgate.service.http.api import ROUTES
from headgate.service.http.document import described
from tests.gateway.talking import Answer
from tests.servers.launch import Server
from tests.service.http.staging import API, asked, plan, posted, told
from tests.service.http.staging import HttpServiceHost as Stage

DOCUMENT = described(ROUTES.routes, "1234")
# What differs each time stands for itself.
ANY = "..."


def test_it_is_a_document() -> None:
    validate(DOCUMENT)


def test_it_is_what_the_service_tells(stage: Stage) -> None:
    assert told(stage.get("/openapi.json")) == described(ROUTES.routes, stage.hall.keeper.version)


def test_every_route_is_in_it_under_a_name_of_its_own() -> None:
    names = [one["operationId"] for path in DOCUMENT["paths"].values() for one in path.values()]

    assert {*DOCUMENT["paths"]} == {route.path.replace("...}", "}") for route in ROUTES.routes}
    assert len({*names}) == len(names)


PLAYED = [
    pytest.param(route, example, id=f"{route.path}-{example.name}")
    for route in ROUTES.routes
    for example in route.examples
]


@pytest.mark.parametrize(("route", "example"), PLAYED)
def test_every_example_is_what_happens(stage: Stage, route: Any, example: Any) -> None:
    path = example.path or route.path
    if route.method == "POST":
        answer = stage.send(posted(path, example.asked))
    else:
        answer = stage.send(asked(route.method, path))

    assert answer.status == example.status
    if example.told is not None:
        alike(told(answer), example.told)
        fits(route.method, route.path, answer)


def test_every_example_is_in_the_document() -> None:
    text = str(DOCUMENT)

    for route in ROUTES.routes:
        for example in route.examples:
            assert f"'summary': {example.says!r}" in text


def alike(given: Any, expected: Any) -> None:
    """Whether two answers are one, but for what differs each time."""
    if expected == ANY:
        return
    if isinstance(expected, dict):
        assert {*given} == {*expected}
        for name, one in expected.items():
            alike(given[name], one)
    else:
        assert given == expected


def fits(method: str, path: str, answer: Answer) -> None:
    """Whether an answer is what the document tells of it."""
    operation = DOCUMENT["paths"][path][method.lower()]
    content = operation["responses"][str(answer.status)].get("content", {})
    kind = "".join(answer.all("content-type")).partition(";")[0]
    assert kind in (content or [""])
    if kind.endswith("json"):
        whole = {**content[kind]["schema"], "components": DOCUMENT["components"]}
        Draft202012Validator(whole).validate(told(answer))


A = {"rule": "api", "key": "a"}
MUCH = {**A, "cost": 101}
NONE = {"rule": "none", "key": "a"}
TOKEN = {"authorization": "Bearer shop-shop-shop-shop"}
SAID: list[tuple[str, str, Any, int]] = [
    *[
        ("POST", f"/v1/{verb}", {"rule": "banned", "key": "a"}, 403)
        for verb in ("take", "peek", "reserve", "hold")
    ],
    *[("POST", f"/v1/{verb}", MUCH, 429) for verb in ("take", "peek", "reserve")],
    *[
        ("POST", f"/v1/{verb}", NONE, 404)
        for verb in ("take", "peek", "debit", "refund", "reset", "reserve", "hold")
    ],
    *[("POST", f"/v1/{verb}", b"{", 400) for verb in ("take", "reset", "check", "commit", "renew")],
    ("POST", "/v1/hold", {"rule": "room", "key": ""}, 200),
    ("POST", "/v1/hold", {"rule": "full", "key": ""}, 429),
    ("POST", "/v1/reset", A, 204),
    ("POST", "/json", {}, 400),
    ("GET", "/v1/keys/{rule}/{key}", None, 404),
    ("GET", "/v1/auth", None, 403),
    ("GET", "/healthcheck", None, 200),
    ("GET", "/rlconfig", None, 200),
]


@pytest.mark.parametrize(("method", "path", "said", "status"), SAID)
def test_what_is_answered_is_what_it_says(method: str, path: str, said: Any, status: int) -> None:
    rules = [API, {"name": "banned", "deny": {}}, {"name": "room",
             "concurrent": 1}, {"name": "full", "concurrent": 1}]  # fmt: skip
    with Stage(plan(*rules)) as stage:
        stage.hall.things["ratelimit"] = Envoy()
        if path == "/v1/hold":
            stage.post(path, {"rule": "full", "key": ""})
        answer = stage.get(path) if method == "GET" else stage.send(posted(path, said))

    assert answer.status == status
    fits(method, path, answer)


class Envoy:
    """What answers Envoy's calls, as a service has it."""

    def json(self, body: bytes) -> tuple[int, bytes]:
        return 400, b"Bad Request\n"

    def rlconfig(self) -> str:
        return "domain.key: unit=MINUTE\n"


@pytest.mark.parametrize("path", [path for path, said in DOCUMENT["paths"].items()
                                  if "requestBody" in said.get("post", {})])  # fmt: skip
def test_what_is_answered_to_anybody_is_what_it_says(path: str) -> None:
    callers = {"shop": {"token": "shop-shop-shop-shop", "limit": "1/h"}}
    with Stage(plan(service={"callers": callers})) as stage:
        answers = [
            stage.post(path, A, content_type="text/plain", **TOKEN),
            stage.post(path, A),
            stage.send(asked("POST", path, **TOKEN, content_length="100000")),
            *[stage.get("/v1/rules", **TOKEN) for _ in range(2)],
        ]

    assert [answer.status for answer in answers] == [415, 401, 413, 200, 429]
    for answer in answers[:3]:
        fits("POST", path, answer)
    fits("GET", "/v1/rules", answers[4])
    fits("POST", path, answers[4])


@pytest.mark.parametrize("verb", ["take", "peek", "debit", "refund", "reset", "reserve", "hold"])
def test_what_is_answered_while_the_store_is_gone_is_what_it_says(
    valkey: Server, verb: str
) -> None:
    rule = {**API, "concurrent": 1, "when_unavailable": "deny"}
    with Stage(plan(rule), store=valkey.url) as stage:
        valkey.kill()
        answer, state = stage.post(f"/v1/{verb}", A), stage.get("/v1/keys/api/a")

    assert (answer.status, state.status) == (503, 503)
    fits("POST", f"/v1/{verb}", answer)
    fits("GET", "/v1/keys/{rule}/{key}", state)


def test_what_forms_say_of_numbers_is_what_is_taken() -> None:
    cost = DOCUMENT["components"]["schemas"]["Take"]["properties"]["cost"]

    assert (cost["minimum"], cost["maximum"]) == (0, 1_000_000_000)
    assert re.match("How much", cost["description"])
