"""Calls whose limits are on a server: the same answers, awaited; and an error when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator

import pytest

from headgate.rules.model.rules import Rules
from headgate.service.grpc.status import UNAVAILABLE, Status
from tests.servers.launch import Server
from tests.service.rls.calls import Desk, call, codes, limited, priced, stand

FILE = """
domain: edge
descriptors:
  - {key: path, rate_limit: {unit: year, requests_per_unit: 3}}
  - {key: user, rate_limit: {limit: {rate: 5/day, by: sliding_window}}}
"""
RULES = """
version: 1
rules:
  - {name: login, match: {path: /login}, key: client.ip, limit: 2/day}
  - {name: all, match: {path: /login}, limit: 9/day}
  - {name: lone, match: {path: /lone}, limit: 1/day}
"""
OVER = "OVER_LIMIT"
BODY = b'{"domain": "edge", "descriptors": [{"entries": [{"key": "path", "value": "/j"}]}]}'


def test_a_far_store_answers_the_same(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, rules=Rules.read(RULES), store=valkey.patient)
        path, user = {"path": "/"}, {"user": "u"}

        assert [stand(await desk.await_("edge", path))[3] for _ in range(3)] == [2, 1, 0]
        refused = await desk.await_("edge", user, path)
        assert codes(refused) == [OVER, "OK", OVER]
        assert stand(await desk.await_("edge", priced(0, user="u")))[3] == 5
        assert codes(await desk.await_("edge", user, user, hits=2)) == ["OK", "OK", "OK"]
        assert codes(await desk.await_("edge", user, user)) == [OVER, "OK", OVER]
        assert stand(await desk.await_("edge", priced(-2, user="u")))[3] == 3
        brought = [await desk.await_("edge", limited(1, "DAY", a="b")) for _ in range(2)]
        assert [codes(one)[0] for one in brought] == ["OK", OVER]
        await desk.close()

    asyncio.run(visit())


def test_rules_of_a_far_store_answer_the_same(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(rules=Rules.read(RULES), store=valkey.patient)
        told = {"remote_address": "192.0.2.1", "path": "/login"}

        found = [codes(await desk.await_("any", told))[0] for _ in range(3)]
        lone = [codes(await desk.await_("any", {"path": "/lone"}))[0] for _ in range(2)]
        refused = await desk.await_("any", {**told, "remote_address": "192.0.2.2"}, told)

        assert (found, lone) == (["OK", "OK", OVER], ["OK", OVER])
        assert codes(refused) == [OVER, "OK", OVER]
        assert desk.keeper.tallies()["login"].refused == 2
        # Both of what the refused calls took is there again.
        book = desk.keeper.lodge.book
        left = await book.rulings[1].main.limiter.peek("", 0)
        assert left.remaining == 7
        await desk.close()

    asyncio.run(visit())


def test_json_is_awaited_too(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, store=valkey.patient)
        statuses = []
        for _ in range(4):
            reply = desk.limit.json(BODY)
            assert isinstance(reply, Awaitable)
            statuses.append((await reply)[0])
        assert statuses == [200, 200, 200, 429]
        await desk.close()

    asyncio.run(visit())


def test_a_store_that_is_gone_is_an_error_and_neither_yes_nor_no(valkey: Server) -> None:
    async def visit() -> None:
        limit = Desk(FILE, store=valkey.url).limit
        valkey.kill()
        for told in ([{"path": "/"}], [{"path": "/"}, {"user": "u"}], [priced(0, user="u")]):
            answer = limit.answer(call("edge", *told))
            assert isinstance(answer, Awaitable)
            with pytest.raises(Status) as caught:
                await answer
            assert caught.value.code == UNAVAILABLE
        reply = limit.json(BODY)
        assert isinstance(reply, Awaitable)
        assert await reply == (500, b"Internal Server Error\n")

    asyncio.run(visit())


@pytest.fixture(params=["memory://", "shared://rls-test"])
def near(request: pytest.FixtureRequest) -> Iterator[Desk]:
    desk = Desk(FILE, store=request.param)
    yield desk
    asyncio.run(desk.close())


def test_what_is_near_is_not_awaited(near: Desk) -> None:
    near.limit.limiter(near.limit.find("edge", [("path", "/")])[0]).reset(  # type: ignore[arg-type]
        near.limit.find("edge", [("path", "/")])[1]
    )

    assert [near.codes("edge", {"path": "/"})[0] for _ in range(4)] == [*["OK"] * 3, OVER]
