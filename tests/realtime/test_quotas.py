"""Envoy reports its quotas every five seconds, by its own clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("hpack")
pytest.importorskip("httptools")

from tests.servers.fixtures import running
from tests.servers.waiting import until
from tests.service.rls.scene import Scene

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    yield from running(lambda: Scene(tmp_path_factory.mktemp("files")))


def test_envoy_is_given_as_much_again_in_the_next_window(scene: Scene) -> None:
    ask = lambda: scene.get("/", "quota", x_few="q").status  # noqa: E731
    until(lambda: ask() == 429, "Envoy to have spent its quota")
    scene.clock.advance(60.0)

    # Of one who asks while a report is on its way, it is the next one that tells.
    found = until(lambda: [ask() for _ in range(5)].count(200), "Envoy to report", 12.0)

    assert 1 <= found <= 3
