"""What is wrong with a body is said: what, where, and what would be right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.service.http.forms import BATCH, Take, Twice, fill, parse, unique
from headgate.service.http.saying import Trouble
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.staging import problem, told

KEY = "is a text such as user:42, not"
RULE = 'lacks "rule", which is the name of a rule, a text such as api'
COST = "is a whole number from 0 to 1,000,000,000, not"
WRONG: list[tuple[str, Any, list[tuple[str, str]]]] = [
    ("take", {"key": "a"}, [("", RULE)]),
    ("take", {"rule": "api"}, [("", 'lacks "key", which is a text such as user:42')]),
    ("take", {"rule": "api", "key": 5}, [("key", f"{KEY} 5")]),
    ("take", {"rule": "api", "key": None}, [("key", f"{KEY} nothing")]),
    ("take", {"rule": "api", "key": "a", "cost": "1"}, [("cost", f'{COST} "1"')]),
    ("take", {"rule": "api", "key": "a", "cost": True}, [("cost", f"{COST} true")]),
    ("take", {"rule": "api", "key": "a", "cost": -1}, [("cost", f"{COST} -1")]),
    ("take", {"rule": "api", "key": "a", "cost": 1.0}, [("cost", f"{COST} 1.0")]),
    ("take", {"rule": "api", "key": "a", "cost": 10**9 + 1}, [("cost", f"{COST} 1000000001")]),
    ("take", {"rule": "api", "key": "a", "cots": 1},
     [("cots", "there is no such field; did you mean cost?")]),
    ("take", {"rule": "api", "key": "a" * 4097},
     [("key", f'{KEY} "{"a" * 60}..."; at most 4,096 characters')]),
    ("take", [], [("", "is an object, not an empty list")]),
    ("take", "api", [("", 'is an object, not "api"')]),
    ("take", {"many": []}, [("many", "has 1 to 1,000 questions, not 0")]),
    ("take", {"many": [{"rule": "api", "key": "a"}, {"key": 5}]},
     [("many[1]", RULE), ("many[1].key", f"{KEY} 5")]),
    ("take", {"many": [], "rule": "api"},
     [("rule", "there is no such field; there is many")]),
    ("reset", {"rule": "api", "key": "a", "cost": 1},
     [("cost", "there is no such field; there are rule, key, plan")]),
    ("reserve", {"rule": "api", "key": "a", "timeout": -1},
     [("timeout", "is the longest wait, a duration such as 2s, 500ms or 1min, not -1")]),
    ("hold", {"rule": "export", "key": "a", "ttl": 4000},
     [("ttl", "is a number of seconds from 0.1 to 3,600, not 4000")]),
    ("commit", {"id": ""}, [("id", 'is an id that was given here, which is a text, not ""')]),
    ("check", {"request": {"path": 5}},
     [("request.path", "is a path such as /login, as it stands in the request, not 5")]),
    ("check", {"request": {"headers": {"a": 5}}},
     [("request.headers.a", "is a text, or a list of texts, not 5")]),
    ("check", {"request": {"scheme": "ftp"}},
     [("request.scheme", 'is http or https, not "ftp"')]),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "said", "problems"), WRONG)
def test_what_is_wrong_is_said(
    stage: Stage, verb: str, said: Any, problems: list[tuple[str, str]]
) -> None:
    answer = stage.post(f"/v1/{verb}", said)

    detail = "; ".join(f"{at}: {says}" if at else f"the body {says}" for at, says in problems)
    listed = [{"at": at, "says": says} for at, says in problems]
    expected = problem(400, "Bad Request", detail, problems=listed)
    assert (answer.status, told(answer)) == (400, expected)
    assert answer.all("content-type") == ["application/problem+json"]


NONE = [
    (b"", "The body is no JSON: Expecting value, line 1, column 1."),
    (b"{", "The body is no JSON: Expecting property name enclosed in double quotes, line 1, "
           "column 2."),
    (b'{"rule":"api","key":"a"} x', "The body is no JSON: Extra data, line 1, column 26."),
    (b'{"rule":"api","key":"a","key":"b"}', 'The body says "key" twice in one object.'),
    (b'{"rule":"api","key":"a","cost":NaN}', "The body has a number that none can be."),
    (b'{"rule":"api","key":"a","cost":' + b"9" * 5000 + b"}",
     "The body has a number that none can be."),
    (b'{"rule":"\xff"}', "The body is no UTF-8, from byte 9 on."),
    (b"\xef\xbb\xbf{}", "The body is no JSON: Expecting value, line 1, column 1."),
    (b"[" * 60_000, "The body is nested too deeply."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "detail"), NONE)
def test_what_is_no_json_is_said_to_be_none(stage: Stage, body: bytes, detail: str) -> None:
    answer = stage.post("/v1/take", body)

    assert (answer.status, told(answer)) == (400, problem(400, "Bad Request", detail))


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "a/b"])
def test_what_is_not_said_to_be_json_is_not_read(stage: Stage, kind: str) -> None:
    answer = stage.post("/v1/take", {"rule": "api", "key": "a"}, content_type=kind)

    said = f'The content-type is application/json, not "{kind}".'
    assert (answer.status, told(answer)) == (415, problem(415, "Unsupported Media Type", said))


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_is_known_however_it_is_spelled(stage: Stage, kind: str) -> None:
    assert stage.post("/v1/take", {"rule": "api", "key": "a"}, content_type=kind).status == 200


def test_too_many_are_not_asked_at_once(stage: Stage) -> None:
    answer = stage.post("/v1/take", {"many": [{"rule": "a", "key": ""}] * (BATCH + 1)})

    assert told(answer)["detail"] == "many: has 1 to 1,000 questions, not 1,001"


PATH = "request.path is a path such as /login, and its query apart, not"
REQUESTS = [
    ({"path": "/a?b=c"}, f'{PATH} "/a?b=c".'),
    ({"path": "a"}, f'{PATH} "a".'),
    ({"path": "/../a"}, f'{PATH} "/../a".'),
    ({"client": "me"}, 'request.client is an address such as 203.0.113.7, not "me".'),
]  # fmt: skip


@pytest.mark.parametrize(("said", "detail"), REQUESTS)
def test_a_request_that_cannot_be_is_not_asked_about(stage: Stage, said: Any, detail: str) -> None:
    answer = stage.post("/v1/check", {"request": said})

    assert (answer.status, told(answer)["detail"]) == (400, detail)


TEXTS = [
    {"path": "/\ud800"},
    {"query": "a=\ud800%41"},
    {"host": "\ud800"},
    {"user": "\ud800"},
    {"headers": {"x-user": "\ud800", "\ud800": "a"}},
]


@pytest.mark.parametrize("said", TEXTS, ids=str)
def test_half_a_character_is_as_good_as_another(stage: Stage, said: Any) -> None:
    assert stage.post("/v1/check", {"request": said}).status == 200


QUERIES = [
    ("/v1/top", "Say of which rule, as in ?rule=api."),
    ("/v1/top?rule=api&limit=0", 'limit is a whole number from 1 to 512, not "0".'),
    ("/v1/top?rul=api", 'There is no parameter "rul"; there are rule, limit.'),
    ("/v1/top?rule=api&rule=api", "A parameter is said twice."),
    ("/v1/top?rule", "The query is malformed; it is such as ?deny=403."),
    ("/v1/keys/api/%ff", "The path is no UTF-8 behind its percent signs."),
]


@pytest.mark.parametrize(("target", "detail"), QUERIES)
def test_a_target_is_read_as_strictly(stage: Stage, target: str, detail: str) -> None:
    answer = stage.get(target)

    assert (answer.status, told(answer)) == (400, problem(400, "Bad Request", detail))


NOWHERE = [
    "/",
    "/v1",
    "/v1/",
    "/v1/take/",
    "/v1/keys/api",
    "/v1/keys/a/b/c",
    "/v2/take",
    "//health",
]


@pytest.mark.parametrize("target", NOWHERE)
def test_where_there_is_nothing_it_is_said_so(stage: Stage, target: str) -> None:
    said = "There is nothing here; GET /openapi.json tells what there is."

    assert told(stage.get(target)) == problem(404, "Not Found", said)


METHODS = [
    ("GET", "/v1/take", "POST"),
    ("DELETE", "/v1/keys/api/a", "GET, HEAD"),
    ("OPTIONS", "/health", "GET, HEAD"),
]


@pytest.mark.parametrize(("method", "target", "allowed"), METHODS)
def test_it_is_said_how_to_ask(stage: Stage, method: str, target: str, allowed: str) -> None:
    answer = stage.ask(method, target)

    assert (answer.status, answer.all("allow")) == (405, [allowed])


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_a_name_that_stands_twice_among_many_is_found_without_comparing_all() -> None:
    Name.compared = 0
    pairs = [(Name(number), 0) for number in range(1000)] + [(Name(999), 1)]

    with pytest.raises(Twice, match="999"):
        unique(pairs)

    assert Name.compared < 10 * len(pairs)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["rule", "key", "cost", "plan", "x"]) | st.text(), inner),
    max_leaves=8,
))  # fmt: skip
def test_whatever_is_said_is_taken_or_told_what_is_wrong(said: Any) -> None:
    found = read(json.dumps(said).encode())

    assert found == 400 or found.key == said["key"]


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_form_or_trouble(body: bytes) -> None:
    assert read(body) == 400


def read(body: bytes) -> Any:
    """What is understood of a body, or the status of the trouble with it."""
    try:
        return fill(Take, parse(body))
    except Trouble as trouble:
        return trouble.answer()[0]
