"""No bytes of a client become a request that the gateway has not seen, on any kind of upstream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from random import Random
from typing import Any
from zlib import crc32

import pytest

from headgate.rules.model.rules import Rules
from tests.conftest import BRIEF, SCALE
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
# Byte by byte, more than so many take too long.
LONG = 2_000
# The interpreted form gets every case whole, and one in eight in pieces.
PIECES = CASES[::8] if BRIEF else CASES


def turns(case: Case) -> list[str]:
    """The upstreams from which something can be learned, each of them first in some cases.

    Whole, in two pieces and byte by byte, a case meets the first, the second and the last of them:
    each upstream once. The soak sends every form to every upstream.
    """
    known = [name for name in UPSTREAMS if name not in case.strange]
    first = crc32(case.name.encode()) % len(known)
    return known[first:] + known[:first]


def pick_upstreams(case: Case, place: int) -> list[str]:
    """The upstreams that one form of a case is sent to."""
    known = turns(case)
    return known if SCALE > 1 else [known[place % len(known)]]


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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_upstream_sees_what_was_meant_or_nothing(
    case: Case, sites: Callable[[str], Site]
) -> None:
    for upstream in pick_upstreams(case, 0):
        judge(case, whole(case.data), *sites(upstream))


@pytest.mark.parametrize("case", PIECES, ids=str)
def test_it_is_the_same_in_two_pieces(case: Case, sites: Callable[[str], Site]) -> None:
    place = Random(case.name).randrange(1, len(case.data))

    for upstream in pick_upstreams(case, 1):
        judge(case, split(case.data, place), *sites(upstream))


@pytest.mark.parametrize("case", [case for case in PIECES if len(case.data) < LONG], ids=str)
def test_it_is_the_same_byte_by_byte(case: Case, sites: Callable[[str], Site]) -> None:
    for upstream in pick_upstreams(case, -1):
        judge(case, single(case.data), *sites(upstream))


@pytest.mark.parametrize("place", range(1, len(HONEST)))
def test_chunks_may_be_split_anywhere(place: int, one: Site) -> None:
    case = Case("split", HONEST, (Passed("POST", body=b"hello world"),))

    judge(case, split(HONEST, place), *one)


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) >= 80


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(map(str, CASES)).items() if count > 1] == []
