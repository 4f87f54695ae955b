"""Rules and routes are exchanged under requests that are under way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.rules.model.rules import Rules
from tests.gateway.answering import Answering
from tests.gateway.asking import GET, asked, reply, served
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, ROOM, Stage, answered, plan
from tests.servers.waiting import until

ONCE = {"name": "once", "limit": {"rate": "1/h", "burst": 1}}


def test_rules_change_under_a_request_that_is_under_way(server: Backing) -> None:
    with (
        Backing() as other,
        Stage(plan(server.url)) as stage,
        stage.talk() as talk,
        stage.talk() as late,
    ):
        caller = asked(talk, server)
        stage.change(plan(other.url, rules=[ROOM, ONCE]))
        # Who is under way stays where it is, and the next goes by the new rules.
        assert served(late, other).status == 200
        caller.say(FINE)
        assert answered(talk).status == 200
        assert reply(talk).status == 429
        # The server that nobody needs any more is left.
        caller.ended()
        stage.rest(clients=2)


@pytest.mark.parametrize(
    "gateway",
    [
        {"audit": {"file": "/nowhere/at/all"}},
        {"upstreams": {"one": {"servers": ["https://127.0.0.1:1"], "health": "/",
                               "tls": {"ca": "/nowhere"}}}},
    ],
)  # fmt: skip
def test_what_cannot_be_changed_to_changes_nothing(
    gateway: dict[str, Any], service: Answering
) -> None:
    with Stage(plan(service.url, rules=[ONCE])) as stage, stage.talk() as talk:
        assert reply(talk).status == 200
        before = stage.gateway.keeper.version
        with pytest.raises(OSError, match="nowhere"):
            stage.change(plan(service.url, rules=[ROOM], **gateway))

        assert stage.gateway.keeper.version == before
        assert reply(talk).status == 429
        # It goes on looking at the clock.
        stage.tick(61.0)
        assert talk.rest() == b""


def test_somebody_may_come_between_new_rules_and_the_next_look_at_the_clock() -> None:
    with Backing() as old, Backing() as new, Stage(plan(old.url)) as stage, stage.talk() as talk:
        # It is the keeper that watches files, and it does not tell the gateway.
        stage.gateway.keeper.change(plan(new.url))
        talk.send(GET)
        stage.turn()
        stage.tick()
        talk.socket.close()
        stage.rest()
        with stage.talk() as other:
            assert served(other, new).status == 200


def write(path: Path, rules: Rules) -> None:
    path.write_text(json.dumps(rules.spelled()))


def test_a_watched_file_is_followed_by_routes(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    with Answering() as old, Answering() as new:
        write(path, plan(old.url))
        with Stage(path, watch=0.01, clock=None) as stage, stage.talk() as talk:
            assert reply(talk).status == 200
            write(path, plan(new.url))

            def moved() -> bool:
                # A request at every moment: the gateway must not lose sight of the new rules.
                assert reply(talk).status == 200
                return bool(new.heads)

            assert until(moved, "requests to go to the new server")
            assert old.heads
