"""Every case on every engine; nothing else in this file."""

from __future__ import annotations

from functools import partial

import pytest

from headgate.testing import Case, cases, check, verify
from tests.conformance.engines import DISTANT, ENGINES
from tests.pairs import pairs
from tests.servers.cluster import Cluster
from tests.stores.redis.callers import COLOURS, Caller, url
from tests.stores.redis.conftest import KINDS


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_is_true(case: Case, engine: str) -> None:
    verify(case, ENGINES[engine])


@pytest.mark.parametrize(
    ("case", "engine", "colour", "server"),
    pairs(cases(), DISTANT, COLOURS, KINDS),
    ids=lambda one: getattr(one, "place", one),
)
def test_the_table_is_true_on_a_server(
    request: pytest.FixtureRequest, case: Case, engine: str, colour: str, server: str
) -> None:
    with Caller(url(request.getfixturevalue(server)), colour) as caller:
        verify(case, partial(DISTANT[engine], caller))


@pytest.mark.parametrize("engine", DISTANT)
@pytest.mark.parametrize("colour", COLOURS)
def test_all_tables_are_true_on_a_cluster(cluster: Cluster, engine: str, colour: str) -> None:
    with Caller(url(cluster), colour) as caller:
        check(partial(DISTANT[engine], caller))
