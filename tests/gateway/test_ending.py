"""The end of a gateway: with what is under way, or without it."""

from __future__ import annotations

import asyncio

import pytest

from headgate.gateway.gateway import Gateway
from headgate.rules.model.rules import Rules
from tests.gateway.asking import asked
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import Talk

NOTHING = (
    "the rules say nothing of a gateway; add a section such as "
    "gateway: {routes: [{upstream: http://127.0.0.1:9000}]}"
)


def draining(stage: Stage, grace: float) -> asyncio.Task[None]:
    """Have it begin to drain."""

    async def begin() -> asyncio.Task[None]:
        task = asyncio.ensure_future(stage.gateway.drain(grace))
        await asyncio.sleep(0)
        return task

    return stage.running.call(begin())


def drained(stage: Stage, task: asyncio.Task[None]) -> None:
    async def join() -> None:
        await task

    stage.running.call(join())


def test_what_is_under_way_is_answered(server: Backing) -> None:
    with (
        Stage(plan(server.url), clock=None) as stage,
        stage.talk() as waiting,
        stage.talk() as reading,
    ):
        first = asked(waiting, server)
        second = asked(reading, server)
        second.say(FINE[:-1], turn=stage.turn)
        task = draining(stage, 20.0)
        # Nobody else gets in.
        with pytest.raises(OSError):
            Talk(stage.port)
        first.say(FINE)
        second.say(FINE[-1:])
        one, two = answered(waiting), answered(reading)

        assert (one.body, one.all("connection")) == (b"fine", ["close"])
        # This one was told before that it could stay.
        assert (two.body, two.all("connection")) == (b"fine", [])
        assert waiting.rest() == reading.rest() == b""
        drained(stage, task)
        stage.rest()


def test_who_takes_longer_than_the_grace_is_left_to_the_end(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        begun = stage.clock.now()
        drained(stage, draining(stage, 0.5))

        assert stage.clock.now() - begun == 500_000
        stage.rest(clients=1, busy=1, places=1)
        caller.say(FINE)
        assert answered(talk).body == b"fine"


def test_the_end_cuts_what_is_under_way_and_gives_everything_back(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        lane = stage.gateway.keeper.lodge.book.rulings[0].lane("", "")
        assert lane is not None
        assert lane.bulkhead.inside() == 1
        stage.running.call(stage.gateway.close())

        # Before it is over: a store that others share would not hear of it afterwards.
        assert lane.bulkhead.inside() == 0
        assert talk.rest() == b""
        caller.ended()


def test_rules_without_a_gateway_are_no_gateway() -> None:
    with pytest.raises(ValueError) as error:
        asyncio.run(Gateway(Rules()).start())

    assert str(error.value) == NOTHING


def test_a_gateway_does_not_change_to_rules_without_one(server: Backing) -> None:
    with Stage(plan(server.url)) as stage:
        before = stage.gateway.keeper.version
        with pytest.raises(ValueError) as error:
            stage.change(Rules())

        assert str(error.value) == NOTHING
        assert stage.gateway.keeper.version == before
