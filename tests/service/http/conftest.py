"""A service for many tests, each of which asks by keys of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.http.staging import API, TRUST, plan
from tests.service.http.staging import HttpServiceHost as Stage

EXPORT = {"name": "export", "key": "header.x-user", "concurrent": 5,
          "match": {"path": "/export"}}  # fmt: skip
BANNED = {"name": "banned", "match": {"path": "/no"}, "deny": {}}


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A service with a limit, places, and a ban."""
    with Stage(plan(API, EXPORT, BANNED, client=TRUST)) as stage:
        yield stage
