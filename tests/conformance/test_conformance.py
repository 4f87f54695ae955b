"""Every case on every engine; nothing else in this file."""

from __future__ import annotations

import pytest

from headgate.testing import Case, cases, verify
from tests.conformance.engines import ENGINES


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_is_true(case: Case, engine: str) -> None:
    verify(case, ENGINES[engine])
