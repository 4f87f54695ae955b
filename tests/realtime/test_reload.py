"""Rules are reloaded all the time under load, three in ten of them broken, and nobody notices.

Under `make soak` a thousand times in a minute, at three hundred requests a second.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.rules.watch.watcher import Status, Watcher

pytestmark = pytest.mark.realtime

RATE, CLIENTS, PLACES = 300, 20, 8
# For each unit of scale, so many seconds and reloads.
SECONDS, RELOADS = 6.0, 100
BROKEN = 0.3


class Visit(NamedTuple):
    """A request: from when to when, what was answered, by which rules."""

    begin: float
    end: float
    status: int
    version: str


class Reign(NamedTuple):
    """Rules that were in force at most from the one moment to the other."""

    version: str
    begin: float
    end: float


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Hundreds of broken files are hundreds of errors in the log."""
    logger = logging.getLogger("headgate")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


def test_nobody_notices_a_thousand_reloads_in_a_minute(tmp_path: Path, scale: int) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text(0))
    keeper = AsyncGatekeeper(file)
    with Watcher(keeper, file, 0.005, 0.01) as watcher:
        visits, reigns = asyncio.run(load(keeper, watcher, file, scale))
    status = watcher.status

    assert len(visits) == SECONDS * scale * RATE
    assert {visit.status for visit in visits} == {200, 429}
    assert status.loads == len(reigns) - 1 > 0.5 * RELOADS * scale
    assert status.failures >= RELOADS * scale - status.loads
    assert strangers(visits, reigns) == []
    assert asyncio.run(free(keeper)) == PLACES


async def load(
    keeper: AsyncGatekeeper, watcher: Watcher, file: Path, scale: int
) -> tuple[list[Visit], list[Reign]]:
    """Requests at their rate, and new rules at theirs, from a thread."""
    app = HeadgateMiddleware(serve, keeper)
    begin = time.monotonic()
    reloads = asyncio.ensure_future(asyncio.to_thread(rewrite, watcher, file, scale))
    tasks = []
    for number in range(round(SECONDS * scale * RATE)):
        await asyncio.sleep(begin + number / RATE - time.monotonic())
        tasks.append(asyncio.ensure_future(visit(app, f"192.0.2.{number % CLIENTS}")))
    return await asyncio.gather(*tasks), await reloads


def rewrite(watcher: Watcher, file: Path, scale: int) -> list[Reign]:
    """Change the file again and again, and wait each time until it has been seen."""
    told: queue.Queue[Status] = queue.Queue()
    watcher.listen(told.put)
    chance = Random(11)
    begin = time.monotonic()
    reigns = [Reign(watcher.status.version, begin, math.inf)]
    for number in range(1, RELOADS * scale + 1):
        time.sleep(max(0.0, begin + number * SECONDS / RELOADS - time.monotonic()))
        moment = time.monotonic()
        if chance.random() < BROKEN:
            write(file, broken(chance, number), chance)
            # A file that is empty for a moment is as bad.
            while not told.get(timeout=10.0).problems:
                pass
            continue
        version = Rules.read(text(number), "json").digest
        write(file, text(number), chance)
        while told.get(timeout=10.0).version != version:
            pass
        reigns[-1] = reigns[-1]._replace(end=time.monotonic())
        reigns.append(Reign(version, moment, math.inf))
    return reigns


def text(number: int) -> str:
    """Good rules, like no others."""
    rule = {"name": "api", "key": "client.ip", "limit": f"{number % 9 + 5}/s", "concurrent": PLACES}
    other = {"name": f"rule-{number}", "match": {"path": "/other"}, "limit": "1/s"}
    return json.dumps({"version": 1, "rules": [rule, other]})


def broken(chance: Random, number: int) -> str:
    """Bad rules."""
    whole = text(number)
    half = whole[: chance.randrange(len(whole) - 1)]
    return chance.choice([whole.replace("/s", "/x"), half, whole.replace("limit", f"l{number}")])


def write(file: Path, said: str, chance: Random) -> None:
    """As editors do: in place, or beside it and then renamed."""
    if chance.random() < 0.5:
        file.write_text(said)
        return
    beside = file.with_suffix(".new")
    beside.write_text(said)
    os.replace(beside, file)


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """An application that takes a while."""
    await asyncio.sleep(0.02)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def visit(app: HeadgateMiddleware, client: str) -> Visit:
    """One request, and the whole answer to it."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/", "scheme": "http", "query_string": b"",
        "headers": [], "client": (client, 1),
    }  # fmt: skip
    begin = time.monotonic()
    await app(scope, receive, send)
    end = time.monotonic()
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return Visit(begin, end, sent[0]["status"], scope["headgate"].version)


def strangers(visits: list[Visit], reigns: list[Reign]) -> list[Visit]:
    """Those decided by rules that were not in force between their begin and their end."""
    known = {reign.version: reign for reign in reigns}
    return [
        visit
        for visit in visits
        if visit.version not in known
        or known[visit.version].begin > visit.end
        or known[visit.version].end < visit.begin
    ]


async def free(keeper: AsyncGatekeeper) -> int:
    """How many places a client has, when all is over."""
    rule = {"name": "api", "key": "client.ip", "limit": "1000/s", "concurrent": PLACES}
    keeper.change(Rules.read(json.dumps({"version": 1, "rules": [rule]}), "json"))
    entries = [await keeper.enter(Request(client="192.0.2.1")) for _ in range(PLACES + 1)]
    for entry in entries[:PLACES]:
        await keeper.leave(entry, 200)
    return sum(map(bool, entries))
