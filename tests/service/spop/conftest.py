"""What tests of an agent leave behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.spop.speaking import LOOPS


@pytest.fixture(autouse=True)
def loops() -> Iterator[None]:
    """Loops that were made for a test end with it."""
    yield
    while LOOPS:
        LOOPS.pop().close()
