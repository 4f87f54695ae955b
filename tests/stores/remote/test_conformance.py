"""Every case of the conformance tables, played through a service."""

from __future__ import annotations

from functools import partial

import pytest

from headgate.testing import Case, cases, verify
from tests.conformance.engines import DISTANT
from tests.service.resp.staging import RespServiceHost as Stage
from tests.stores.redis.callers import COLOURS
from tests.stores.remote.callers import Remote


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
@pytest.mark.parametrize("engine", DISTANT)
@pytest.mark.parametrize("colour", COLOURS)
def test_the_table_is_true_through_a_service(
    service: Stage, case: Case, engine: str, colour: str
) -> None:
    with Remote(service.url, colour) as caller:
        verify(case, partial(DISTANT[engine], caller))
