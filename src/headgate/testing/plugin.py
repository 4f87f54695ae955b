"""What pytest finds by itself where Headgate is installed: the fixture `headgate_rules`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def headgate_rules() -> Callable[[Any], Any]:
    """Begins a `headgate.testing.Trial` of rules: a file, or a `Rules` value."""
    # Not before somebody asks: this module is loaded by every run of pytest.
    from headgate.testing.trial import Trial  # noqa: PLC0415

    return Trial
