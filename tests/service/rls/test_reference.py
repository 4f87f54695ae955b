"""What the documentation of envoyproxy/ratelimit promises of its files, as tables.

A row is how often a call is made, its descriptors, and how often it may go in.
"""

from __future__ import annotations

import pytest

from tests.service.rls.calls import Desk, codes

Row = tuple[int, str, int]

DATABASES = """
domain: databases
descriptors:
  - {key: database, value: accounts, rate_limit: {unit: second, requests_per_unit: 50}}
  - {key: database, value: other, rate_limit: {unit: second, requests_per_unit: 40}}
"""
MAIL = """
domain: mail
descriptors:
  - key: kind
    value: offer
    descriptors:
      - {key: to, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: to, rate_limit: {unit: day, requests_per_unit: 10}}
"""
ADDRESSES = """
domain: addresses
descriptors:
  - {key: remote_address, rate_limit: {unit: second, requests_per_unit: 10}}
  - {key: remote_address, value: 192.0.2.5, rate_limit: {unit: second, requests_per_unit: 0}}
"""
SHALLOW = """
domain: depth
descriptors:
  - {key: a, value: b, rate_limit: {requests_per_unit: 3, unit: second}}
"""
DEEP = """
domain: depth
descriptors:
  - key: a
    value: b
    descriptors:
      - {key: c, rate_limit: {requests_per_unit: 3, unit: second}}
"""
FREE = """
domain: inside
descriptors:
  - {key: directory, rate_limit: {unlimited: true}}
  - {key: cloud, rate_limit: {unit: minute, requests_per_unit: 10}}
"""
TRIED = """
domain: tried
descriptors:
  - key: service
    descriptors:
      - key: user
        value: ann
        rate_limit: {requests_per_unit: 10, unit: second}
        shadow_mode: true
      - {key: user, value: bob, rate_limit: {requests_per_unit: 20, unit: second}}
"""
INSTEAD = """
domain: instead
descriptors:
  - key: read
    value: all
    descriptors:
      - key: user
        value: ann
        rate_limit: {name: reading, requests_per_unit: 5, unit: second}
  - key: page
    value: home
    descriptors:
      - key: user
        value: ann
        rate_limit: {replaces: [{name: reading}], requests_per_unit: 10, unit: second}
"""
METRICS = """
domain: metrics
descriptors:
  - {key: key, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: key, value: known, rate_limit: {unit: minute, requests_per_unit: 20}}
  - key: route
    value_to_metric: true
    descriptors:
      - {key: method, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 4}}
"""
STARS = """
domain: stars
descriptors:
  - {key: word, value: pre*, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: path, value: /api/*/do, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: path, value: /api/*/of/*/do, rate_limit: {unit: minute, requests_per_unit: 1}}
"""
SHARED = """
domain: shared
descriptors:
  - key: files
    value: files/*
    share_threshold: true
    rate_limit: {unit: hour, requests_per_unit: 10}
  - {key: files, value: own/*, rate_limit: {unit: hour, requests_per_unit: 10}}
"""

TABLES: dict[str, tuple[str, list[Row]]] = {
    "each value has a limit of its own, and others have none": (
        DATABASES,
        [
            (60, "database=accounts", 50),
            (60, "database=other", 40),
            (60, "database=third", 60),
        ],
    ),
    "a key without a value counts each value apart": (
        MAIL,
        [(6, "kind=offer to=1", 5), (6, "kind=offer to=2", 5), (11, "to=1", 10)],
    ),
    "several descriptors must all agree": (
        MAIL,
        [(6, "kind=offer to=3 | to=3", 5), (6, "to=3", 5)],
    ),
    "a value counts before its key": (
        ADDRESSES,
        [(12, "remote_address=192.0.2.1", 10), (3, "remote_address=192.0.2.5", 0)],
    ),
    "what is deeper than the file is not meant": (SHALLOW, [(9, "a=b c=d", 9), (9, "a=b", 3)]),
    "what is as deep as the file is meant": (DEEP, [(9, "a=b c=d", 3), (9, "a=b", 9)]),
    "what is unlimited may do as it likes": (FREE, [(99, "directory=x", 99), (11, "cloud=x", 10)]),
    "what is tried out refuses nobody": (
        TRIED,
        [(30, "service=a user=ann", 30), (30, "service=a user=bob", 20)],
    ),
    "one limit holds instead of another": (
        INSTEAD,
        [
            (20, "read=all user=ann | page=home user=ann", 10),
            (20, "read=all user=ann", 5),
            (20, "page=home user=ann", 0),
        ],
    ),
    "words about metrics change no limit": (
        METRICS,
        [
            (11, "key=new", 10),
            (11, "key=newer", 10),
            (21, "key=known", 20),
            (5, "route=a method=GET", 4),
            (5, "route=b method=GET", 4),
        ],
    ),
    "a star stands for any text": (
        STARS,
        [
            (3, "word=prefix", 2),
            (3, "word=prelude", 2),
            (3, "word=other", 3),
            (3, "path=/api/1/do", 2),
            (3, "path=/api/1/other", 3),
            (3, "path=/api/1/of/2/do", 2),
        ],
    ),
    "what shares a threshold counts together": (
        SHARED,
        [
            (5, "files=files/a", 5),
            (5, "files=files/b", 5),
            (1, "files=files/c", 0),
            (11, "files=own/a", 10),
            (1, "files=own/b", 1),
        ],
    ),
}


@pytest.mark.parametrize("title", TABLES)
def test_the_reference_promises(title: str) -> None:
    file, rows = TABLES[title]
    desk = Desk(file)
    domain = next(iter(desk.limit._trees))

    for times, said, most in rows:
        told = [dict(word.split("=") for word in one.split()) for one in said.split("|")]
        found = [codes(desk.ask(domain, *told))[0] for _ in range(times)]
        assert found == ["OK"] * most + ["OVER_LIMIT"] * (times - most), said
