"""The end of a gateway: with what is under way, or without it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from headgate.gateway.gateway import Gateway
from headgate.rules.model.rules import Rules
from tests.gateway.asking import asked, served
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import Talk
from tests.servers.locked import Notary, lock

NOTHING = (
    "the rules say nothing of a gateway; add a section such as "
    "gateway: {routes: [{upstream: http://127.0.0.1:9000}]}"
)
LINE = b"PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r\n"


def draining(stage: Stage, grace: float) -> asyncio.Task[None]:
    """Have it begin to drain."""
    return stage.call(begun(stage.gateway.drain(grace)))


def leaving(stage: Stage, grace: float) -> asyncio.Task[None]:
    """Have it begin to end, as a worker does."""

    async def leave() -> None:
        await stage.gateway.drain(grace)
        await stage.gateway.close()

    return stage.call(begun(leave()))


async def begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return task


def drained(stage: Stage, task: asyncio.Task[None]) -> None:
    async def join() -> None:
        await task

    stage.call(join())


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


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b""),
        (b"", LINE),
        (LINE[:10], LINE[10:]),
        (LINE, b""),
    ],
    ids=["no proxy", "all of it later", "the rest of it later", "all of it before"],
)
def test_who_came_in_before_and_speaks_later_is_answered(
    before: bytes, after: bytes, tls: bool, notary: Notary, server: Backing
) -> None:
    """Nobody else would: whoever has been taken in cannot be left to another."""
    listen: dict[str, Any] = {"address": "127.0.0.1:0", "proxy_protocol": bool(before + after)}
    if tls:
        listen["tls"] = notary.tls
    rules = plan(server.url, client={"trusted_proxies": ["127.0.0.1/32"]}, listen=listen)
    with Stage(rules, clock=None) as stage, stage.talk() as talk:
        talk.send(before)
        stage.turn()
        task = leaving(stage, 20.0)
        stage.turn()
        talk.send(after)
        if tls:
            lock(talk, notary.visiting())
        answer = served(talk, server)

        assert (answer.body, answer.all("connection")) == (b"fine", ["close"])
        talk.socket.close()
        drained(stage, task)


@pytest.mark.parametrize("proxied", [False, True])
def test_who_came_in_and_never_speaks_is_not_waited_for_longer_than_the_grace(
    proxied: bool, notary: Notary, server: Backing
) -> None:
    listen = {"address": "127.0.0.1:0", "proxy_protocol": proxied, "tls": notary.tls}
    rules = plan(server.url, client={"trusted_proxies": ["127.0.0.1/32"]}, listen=listen)
    with Stage(rules) as stage, stage.talk() as talk:
        stage.turn()
        before = stage.clock.now()
        drained(stage, leaving(stage, 0.5))

        assert stage.clock.now() - before == 500_000
        assert talk.rest() == b""


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
        stage.call(stage.gateway.close())

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
