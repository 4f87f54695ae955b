"""Services: one that counts in memory, and papers for one that shows who it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.fixtures import running
from tests.servers.keeper import keeper
from tests.servers.secure import certificates
from tests.service.resp.staging import RespServiceHost as Stage


@pytest.fixture(scope="module")
def service() -> Iterator[Stage]:
    """A service that counts in memory."""
    with Stage() as stage:
        yield stage


@pytest.fixture
def papers() -> Iterator[tuple[Path, Path, Path]]:
    """An authority, a certificate that it gave this machine, and the key of that."""
    yield from running(issued)


@contextmanager
def issued() -> Iterator[tuple[Path, Path, Path]]:
    yield certificates(keeper().room("certificates"))
