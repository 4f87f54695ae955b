"""What one rule covers of another: where it says so, no request escapes the wider one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching.index import Condition
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.review.cover import covers

METHODS = ["GET", "HEAD", "POST", "P*", "*"]
PATHS = ["/", "/**", "/a", "/a/**", "/a/*", "/a/b", "/a/{id}", "/*/b", "/a/b*", "/**/b"]
HOSTS = ["a.example", "*.example", "*"]
CLIENTS = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "2001:db8::/32"]


def rule(match: dict[str, Any] | None = None, when: str | None = None) -> Rule:
    return Rule("r", limit="5/s", when=when, **({"match": match} if match else {}))


@pytest.mark.parametrize(
    ("wider", "match"),
    [
        (None, {"path": "/a"}),
        ({"path": "/**"}, None),
        ({"path": "/v1/**"}, {"path": "/v1"}),
        ({"path": "/v1/**"}, {"path": "/v1/{id}/**"}),
        ({"path": "/v1/*"}, {"path": "/v1/{id}"}),
        ({"path": "/v1/*.png"}, {"path": "/v1/x.png"}),
        ({"path": ["/a", "/b/**"]}, {"path": ["/b/c", "/a"]}),
        ({"method": "GET"}, {"method": "HEAD"}),
        ({"method": ["GET", "POST"]}, {"method": "POST", "path": "/a"}),
        ({"host": "*.example"}, {"host": "a.example"}),
        ({"client.ip": "10.0.0.0/8"}, {"client.ip": ["10.1.2.3", "10.2.0.0/16"]}),
        ({"not": {"path": "/a"}}, {"not": {"path": "/a/**"}, "method": "GET"}),
        ({"header.x": "*"}, None),
    ],
)
def test_a_wider_rule_covers(wider: dict[str, Any], match: dict[str, Any]) -> None:
    assert covers(rule(wider), rule(match))


@pytest.mark.parametrize(
    ("wider", "match"),
    [
        ({"path": "/a"}, None),
        ({"path": "/v1/**"}, {"path": "/v10"}),
        ({"path": "/v1/x"}, {"path": "/v1/{id}"}),
        ({"path": "/v1/*"}, {"path": "/v1/**"}),
        ({"path": "/v1/a*"}, {"path": "/v1/*"}),
        ({"method": "HEAD"}, {"method": "GET"}),
        ({"method": "G*"}, {"method": "GET"}),
        ({"host": "a.example"}, {"host": "*.example"}),
        ({"client.ip": "10.1.0.0/16"}, {"client.ip": "10.0.0.0/8"}),
        ({"client.ip": "10.0.0.0/8"}, {"client.ip": "2001:db8::/32"}),
        ({"not": {"path": "/a"}}, {"method": "GET"}),
        ({"not": {"path": "/a/**"}}, {"not": {"path": "/a"}}),
        ({"path": "/**", "method": "GET"}, {"path": "/a"}),
    ],
)
def test_a_narrower_rule_does_not(wider: dict[str, Any], match: dict[str, Any]) -> None:
    assert not covers(rule(wider), rule(match))


def test_an_expression_covers_itself_and_nothing_else() -> None:
    assert covers(rule(when="size > 5"), rule({"path": "/a"}, when="size>5"))
    assert not covers(rule(when="size > 5"), rule(when="size > 6"))
    assert covers(rule(), rule(when="size > 6"))


def matches() -> st.SearchStrategy[dict[str, Any]]:
    facts = {"method": METHODS, "path": PATHS, "host": HOSTS, "client.ip": CLIENTS}
    listed = {word: st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True)
              for word, values in facts.items()}  # fmt: skip
    plain = st.fixed_dictionaries({}, optional=listed)
    return st.builds(lambda one, none: {**one, **({"not": none} if none else {})}, plain, plain)


REQUESTS = st.builds(
    lambda method, path, host, client: Request(method, path, {"host": host}, client=client),
    st.sampled_from(["GET", "HEAD", "POST", "PUT"]),
    st.sampled_from(["/", "/a", "/a/b", "/a/bc", "/x/b", "/a/x/b", "/c"]),
    st.sampled_from(["a.example", "b.example", "c.test", ""]),
    st.sampled_from(["10.1.2.3", "10.1.9.9", "10.9.9.9", "2001:db8::1", "203.0.113.7"]),
)


@given(matches(), matches(), st.lists(REQUESTS, max_size=20))
def test_no_request_of_a_covered_rule_escapes(
    wider: dict[str, Any], match: dict[str, Any], requests: list[Request]
) -> None:
    outer, inner = rule(wider), rule(match)
    meets = [
        Condition.of(each.match.conditions, each.match.exceptions).build()
        for each in (outer, inner)
    ]

    if covers(outer, inner):
        assert [
            request for request in requests if meets[1](request) and not meets[0](request)
        ] == []
