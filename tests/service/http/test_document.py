"""The OpenAPI document: it is one, it names every route, and every example in it is played."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from headgate.service.http.api import ROUTES
from headgate.service.http.document import described
from tests.service.http.staging import Stage, asked, posted, told

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
        fits(route, answer.status, told(answer))


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


def fits(route: Any, status: int, said: Any) -> None:
    """Whether an answer is of the schema that is told of it."""
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    content = operation["responses"][str(status)]["content"]
    ((_, media),) = content.items()
    whole = {**media["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(whole).validate(said)


def test_what_forms_say_of_numbers_is_what_is_taken() -> None:
    cost = DOCUMENT["components"]["schemas"]["Take"]["properties"]["cost"]

    assert (cost["minimum"], cost["maximum"]) == (0, 1_000_000_000)
    assert re.match("How much", cost["description"])
