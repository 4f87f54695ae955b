"""No bytes of a client become a request that the gateway has not seen, on any kind of upstream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from random import Random
from typing import Any

import pytest

from headgate.rules.model.rules import Rules
from tests.gateway.cases import CHUNKED, Case, Passed, post
from tests.gateway.corpus import CASES
from tests.gateway.judging import judge
from tests.gateway.running import Running
from tests.gateway.talking import single, split, whole

Site = tuple[Running, Any]

UPSTREAMS = ("uvicorn_h11", "uvicorn_httptools", "nginx")
RULES = """
version: 1
gateway:
  listen: 127.0.0.1:0
  limits: {head: 64KB, lines: 100, body: 64KB}
  routes:
    - upstream: %s
"""
PAIRS = [(name, case) for name in UPSTREAMS for case in CASES if name not in case.strange]
PASSING = [
    case for case in CASES if isinstance(case.expected[0], Passed) and len(case.data) < 2_000
]
HONEST = post(CHUNKED, body=b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n")


@pytest.fixture(scope="module")
def sites(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Site]]:
    """A gateway for each upstream, begun when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def begin(name: str) -> Site:
            upstream = request.getfixturevalue(name)
            return stack.enter_context(Running(Rules.read(RULES % upstream.url))), upstream

        yield begin


@pytest.fixture
def one(sites: Callable[[str], Site]) -> Site:
    """A gateway before the upstream that tells most."""
    return sites("uvicorn_httptools")


@pytest.mark.parametrize(("upstream", "case"), PAIRS, ids=str)
def test_the_upstream_sees_what_was_meant_or_nothing(
    upstream: str, case: Case, sites: Callable[[str], Site]
) -> None:
    place = Random(f"{case} {upstream}").randrange(1, len(case.data))

    for pieces in (whole(case.data), split(case.data, place)):
        judge(case, pieces, *sites(upstream))


@pytest.mark.parametrize("case", PASSING, ids=str)
def test_it_is_the_same_byte_by_byte(case: Case, one: Site) -> None:
    judge(case, single(case.data), *one)


@pytest.mark.parametrize("place", range(1, len(HONEST)))
def test_chunks_may_be_split_anywhere(place: int, one: Site) -> None:
    case = Case("split", HONEST, (Passed("POST", body=b"hello world"),))

    judge(case, split(HONEST, place), *one)


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) >= 80


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(map(str, CASES)).items() if count > 1] == []
