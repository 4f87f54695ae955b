"""The JSON Schema says what the reading of rules says, as far as a schema can."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import pytest
from hypothesis import given, settings

from headgate.rules.model.rules import Rules
from headgate.rules.model.schema import schema
from tests.rules.model.mutations import TABLES, WRONG, Broken, absent, misspelled, mistaken
from tests.rules.model.rich import RICH, SMALL
from tests.rules.model.strategies import files

jsonschema = pytest.importorskip("jsonschema")

# Making one example takes 20 ms and more, and `make soak` has hundreds of them.
shorter = settings(max_examples=settings().max_examples * 2 // 5)
# What no schema knows: how fields go together, and what the words of other languages mean.
BEYOND = {
    "number": {"penalty", "burst", "parts", "last", "api", "files", "above", "below"}
    | {*RICH["rules"][1]["overrides"]},
    "fraction": {"above", "below"},
    "text": {"header", "when", "zone", "redirect", "to"},
    "mapping": {"vip", "free", "paid", "overrides"},
    "empty list": {"rules"},
    "empty mapping": {"callers", "upstreams", "path"},
    "zero": {"budget"},
}


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema.Draft202012Validator(schema())


def test_it_is_a_schema() -> None:
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)

    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == "urn:headgate:rules:1"
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("name", ["rich", *SMALL])
def test_good_files_are_valid(name: str, validator: Any) -> None:
    validator.validate({"rich": RICH, **SMALL}[name])


@shorter
@given(plain=files())
def test_whatever_is_read_is_valid(plain: Mapping[str, Any], validator: Any) -> None:
    Rules.read(json.dumps(plain), "json")
    validator.validate(plain)


@pytest.mark.parametrize("kind", [kind for kind in WRONG if kind not in {"huge", "nan"}])
def test_what_is_of_the_wrong_kind_is_not_valid(kind: str, validator: Any, scale: int) -> None:
    beyond = BEYOND.get(kind, set())
    # `make soak` takes every place; here the wrong values take turns.
    every = 1 if scale > 1 else 4
    cases = [*mistaken(kind)][[*WRONG].index(kind) % every :: every]
    judged = {case.label: validator.is_valid(narrow(case)) for case in cases}

    assert [case.label for case in cases if case.good and not judged[case.label]] == []
    wrong = [case.label for case in cases if not case.good and judged[case.label]]
    assert [label for label in wrong if not any(f"'{word}'" in label for word in beyond)] == []


def test_names_that_are_none_are_not_valid(validator: Any, scale: int) -> None:
    strange = [case for case in misspelled() if case.at[0] != "plans"]
    # At length, all of them.
    strange = strange[:: 1 if scale > 1 else 4]

    assert [case.label for case in strange if validator.is_valid(narrow(case))] == []


def test_what_has_to_be_there_is_missed(validator: Any) -> None:
    assert [case.label for case in absent() if validator.is_valid(narrow(case))] == []


def narrow(case: Broken) -> Mapping[str, Any]:
    """The file without what is beside the broken place: to a schema, no part is about another."""
    first, *further = case.at or ("",)
    if first == "rules" and further:
        return {"version": 1, "rules": [case.data["rules"][further[0]]]}
    beside = {"rules", "plans"} - {first} if first in case.data else set()
    return {name: value for name, value in case.data.items() if name not in beside}


@pytest.mark.parametrize("cls", TABLES)
def test_every_field_is_described(cls: type) -> None:
    found = schema()
    table = found if cls is Rules else found["$defs"][cls.__name__]

    for one in fields(cls):
        assert table["properties"][one.name]["description"] == one.metadata["says"]
    required = [one.name for one in fields(cls) if one.default is MISSING]
    assert table.get("required", []) == (["version"] if cls is Rules else required)


@pytest.mark.parametrize("plain", [{"store": "${STORE}"}, {"plan": "${PLAN:-user}"}])
def test_a_variable_may_stand_where_a_word_may(plain: Mapping[str, Any], validator: Any) -> None:
    rule = {"name": "a", "limit": "${LIMIT}", "mode": "${MODE}", "match": {"path": "${PATH_}"}}

    validator.validate({"version": 1, "rules": [rule], **plain})
