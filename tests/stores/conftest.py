"""What tests of stores lean on."""

from __future__ import annotations

import pytest

from tests import crowd


@pytest.fixture(autouse=True)
def _remember() -> None:
    """Know which threads are other tests'."""
    crowd.remember()
