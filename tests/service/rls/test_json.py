"""`/json`: the same calls for those who have no gRPC."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.service.rls.calls import Desk

FILE = """
domain: edge
descriptors:
  - {key: path, rate_limit: {unit: minute, requests_per_unit: 2, name: paths}}
"""
BODY = b'{"domain": "edge", "descriptors": [{"entries": [{"key": "path", "value": "/"}]}]}'


@pytest.fixture
def desk() -> Desk:
    return Desk(FILE)


def ask(desk: Desk, body: bytes) -> tuple[int, Any]:
    """The status and what the body says."""
    reply = desk.limit.json(body)
    assert isinstance(reply, tuple)
    status, said = reply
    return status, json.loads(said) if said.startswith(b"{") else said


def test_a_call_is_answered_in_json(desk: Desk) -> None:
    status, said = ask(desk, BODY)

    assert status == 200
    assert said == {
        "overallCode": "OK",
        "statuses": [
            {
                "code": "OK",
                "currentLimit": {"requestsPerUnit": 2, "unit": "MINUTE", "name": "paths"},
                "limitRemaining": 1,
                "durationUntilReset": "60s",
            }
        ],
    }


def test_a_refusal_has_a_status_of_its_own(desk: Desk) -> None:
    found = [ask(desk, BODY) for _ in range(3)]

    assert [status for status, _ in found] == [200, 200, 429]
    assert found[2][1]["overallCode"] == "OVER_LIMIT"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"domain": "edge"}',
        b'{"descriptors": [{}]}',
        b'{"domain": "edge", "descriptors": [{"entry": []}]}',
        b'{"domain": 5, "descriptors": [{}]}',
        b'{"domain": "\\ud800", "descriptors": [{}]}',
        b'{"hitsAddend": -1}',
        b'{"a":' * 2000,
    ],
)
def test_what_is_no_call_is_a_bad_request(desk: Desk, body: bytes) -> None:
    assert ask(desk, body) == (400, b"Bad Request\n")


def test_fields_are_spelled_in_either_way(desk: Desk) -> None:
    both = [BODY[:-1] + b', "hitsAddend": 2}', BODY[:-1] + b', "hits_addend": 1}']

    assert [ask(desk, body)[0] for body in both] == [200, 429]
