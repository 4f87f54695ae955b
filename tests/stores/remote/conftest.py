"""Services: at each kind of store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.resp.staging import Stage


@pytest.fixture(scope="module")
def service() -> Iterator[Stage]:
    """A service that counts in memory."""
    with Stage() as stage:
        yield stage
