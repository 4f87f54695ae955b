"""Each test finds a server as if nobody had been there; where there is none, it is told why."""

from __future__ import annotations

import pytest

from tests.servers.binaries import Missing
from tests.servers.cluster import Cluster
from tests.servers.fixtures import running
from tests.servers.launch import Server

NAMES = ["valkey", "redis_server", "password_server", "tls_server"]


@pytest.mark.parametrize("turn", ["first", "second"])
@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_empty_when_a_test_begins(
    request: pytest.FixtureRequest, name: str, turn: str
) -> None:
    server: Server = request.getfixturevalue(name)
    found = server.ask("DBSIZE")
    server.ask("SET", turn, "1")

    assert (found, server.ask("DBSIZE")) == (0, 1)


def nowhere() -> Cluster:
    raise Missing("no cluster here")


@pytest.mark.parametrize(
    ("everywhere", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)]
)
def test_what_cannot_be_had_is_skipped_at_a_desk_and_fails_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch, everywhere: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", everywhere)

    with pytest.raises(outcome) as raised:
        next(running(nowhere))
    assert str(raised.value) == "no cluster here"
