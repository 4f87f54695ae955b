"""A server that cannot be installed skips its tests on a developer's machine only."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from tests.servers.binaries import Missing
from tests.servers.fixtures import running


def raise_missing() -> AbstractContextManager[None]:
    raise Missing("no cluster here")


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)]
)
def test_missing_server_skips_locally_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome) as raised:
        next(running(raise_missing))
    assert str(raised.value) == "no cluster here"
