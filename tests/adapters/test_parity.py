"""The same requests, the same answers, whatever framework they are answered by."""

from __future__ import annotations

import pytest

from tests.adapters.drivers import DRIVERS
from tests.adapters.parity import SCENES, play


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scene", SCENES)
def test_every_framework_answers_alike(scene: str, driver: str) -> None:
    play(SCENES[scene], DRIVERS[driver])
