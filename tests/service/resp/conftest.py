"""A service whose rules let five in a minute, for each key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.resp.staging import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A service in memory, on a clock that stands still."""
    with Stage() as found:
        yield found


@pytest.fixture(scope="module")
def shared() -> Iterator[Stage]:
    """The same, for all tests of a module."""
    with Stage() as found:
        yield found
