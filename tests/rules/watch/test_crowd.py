"""Many threads decide while rules are reloaded all the time, three in ten of them broken."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from headgate import SharedStore
from headgate.rules.matching.request import Request
from tests.crowd import hasty, together
from tests.rules.watch.scenes import API, Desk, left, limited, spelled, version

THREADS = 5
BROKEN = ["", "{", "null", limited("5/sex"), spelled({"name": "api"}), "\0", limited("5/min")[:-2]]
CROWD: dict[str, Any] = {**API, "concurrent": 5}


def text(chance: Random, number: int) -> str:
    """Rules like no others, or, in three of ten, none at all."""
    if chance.random() < 0.3:
        return chance.choice(BROKEN)
    rules = [{**CROWD, "limit": f"{chance.randint(1, 50)}/h"}]
    if chance.random() < 0.5:
        rules.append({"name": f"rule-{number}", "limit": f"{number + 1}/s"})
    if chance.random() < 0.2:
        rules.append({"name": "places", "key": "client.ip", "concurrent": chance.randint(4, 9)})
    return spelled(*rules)


@pytest.fixture(params=["memory://", "shared://"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """A store of this process, then one of this machine."""
    name = f"crowd-{uuid4().hex}"
    yield "memory://" if request.param == "memory://" else f"shared://{name}"
    if request.param == "shared://":
        SharedStore(name).remove()


def test_nobody_notices_hundreds_of_reloads(tmp_path: Path, store: str, scale: int) -> None:
    times = 30 * min(scale, 5)
    desk = Desk(tmp_path, spelled({**CROWD, "limit": "50/h"}), store)
    chance = Random(5)
    known = {desk.keeper.version}
    done = threading.Event()

    def reload() -> list[Any]:
        seen = []
        for number in range(times):
            said = text(chance, number)
            if said not in BROKEN:
                known.add(version(said))
            seen.append((said in BROKEN, desk.change(said)))
        done.set()
        return seen

    def decide(number: int) -> list[Any]:
        entries = []
        while not done.is_set():
            # Everybody has a key of its own, and all have one together.
            for client in ("192.0.2.200", f"192.0.2.{number}"):
                entry = desk.keeper.enter(Request(client=client))
                entries.append((client, bool(entry), entry.version))
                desk.keeper.leave(entry, 200)
        return entries

    with hasty():
        reloads, *told = together(
            lambda number: decide(number) if number else reload(), THREADS + 1
        )
    entries = [entry for seen in told for entry in seen]

    assert [new for broken, new in reloads if broken and new] == []
    assert desk.watcher.status.loads == sum(new for _, new in reloads) > 0.5 * len(reloads)
    assert {said for _, _, said in entries} <= known
    assert len({said for _, _, said in entries}) > 10
    # The clock stands still: whatever the limits were, their shares add up to one bucket.
    for client in {client for client, _, _ in entries}:
        assert sum(good for who, good, _ in entries if who == client) <= 50
    # Whoever went in has left again.
    desk.change(spelled({**CROWD, "limit": "50000/h"}))
    desk.change(spelled({**CROWD, "limit": "60000/h"}))
    inside = [desk.keeper.enter(Request(client="192.0.2.201")) for _ in range(6)]
    assert [bool(entry) for entry in inside] == [True] * 5 + [False]
    for entry in inside[:5]:
        desk.keeper.leave(entry, 200)


def test_several_who_look_at_once_load_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, limited("5/min"))
    seen = []
    for number in range(20):
        desk.file.write_text(limited(f"{number + 6}/min"))
        seen.append(sum(together(lambda _: desk.watcher.look(), 4)))

    assert seen == [1] * 20
    assert left(desk.keeper) == 24
