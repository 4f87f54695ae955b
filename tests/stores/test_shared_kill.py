"""Killed in the middle of traffic: the others go on, and count every unit once.

Hands take for ever, each writing down what it was admitted; one after another is killed, wherever
it happens to be, and another one comes in its place.
"""

from __future__ import annotations

import os
import random
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate import FixedWindow, SlidingLog, TokenBucket
from headgate.algorithms.limit import Limit
from headgate.stores.shared.store import SharedStore
from tests.stores.crew import Crew

HANDS = 4
KILLS = 4
NOW = 1_800_000_000_000_000
SECOND = 1_000_000
KEYS = [f"key:{number}" for number in range(16)]
MANY = 1_000_000_000
BUCKET = (TokenBucket(f"{MANY}/day"),)
# Each limit beside its twin: of a row that was half changed, one would show it.
TWINS = (
    TokenBucket(f"{MANY}/day"),
    TokenBucket(f"{MANY}/day", name="twin"),
    FixedWindow(f"{MANY}/day"),
    FixedWindow(f"{MANY}/day", name="twin"),
)
LOGS = (SlidingLog("300/s"), SlidingLog("300/s", name="twin"))


class Massacre:
    """A crew whose hands are killed one after another, and the records they leave."""

    def __init__(self, folder: Path, limits: tuple[Limit, ...], task: str, size: int) -> None:
        self.folder = folder
        self.limits = limits
        self.task = task
        self.size = size
        self.ledger = SharedStore("crew", 1000, str(folder)).open(limits, "api")
        self.dismissed = 0
        self.chance = random.Random(0)

    def run(self, kills: int) -> None:
        """Kill one hand after another, whichever, as soon as the one before it is replaced."""
        with Crew(HANDS) as crew:
            for hand in crew.hands:
                self.put(crew, hand)
            for _ in range(kills):
                self.put(crew, crew.replace(self.chance.randrange(HANDS)))
            # Nobody was kept waiting so long that it gave up.
            assert all(crew.busy(hand) for hand in crew.hands)
        self.dismissed = kills + HANDS

    def put(self, crew: Crew, hand: Any) -> None:
        """Let a hand begin, and see that it comes in: nobody has left the way shut."""
        record = self.folder / f"{hand.pid}.record"
        record.write_bytes(bytes(8 * self.size))
        names = [repr(limit) for limit in self.limits]
        crew.tell(hand, "open", folder=str(self.folder), limits=names)
        assert crew.hear(hand) == "open"
        more: dict[str, Any] = {"now": NOW} if self.task == "count" else {}
        crew.tell(hand, self.task, keys=KEYS, record=str(record), **more)
        with record.open("rb", buffering=0) as file:
            until(lambda: any(os.pread(file.fileno(), 8, 0)))

    def records(self) -> list[array[int]]:
        return [array("q", path.read_bytes()) for path in self.folder.glob("*.record")]


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("limits", [BUCKET, TWINS], ids=["one limit", "twins"])
def test_whatever_happens_to_others_every_unit_is_counted_once(
    tmp_path: Path, scale: int, limits: tuple[Limit, ...]
) -> None:
    massacre = Massacre(tmp_path, limits, "count", len(KEYS))
    massacre.run(KILLS * scale)

    recorded = [sum(counts) for counts in zip(*massacre.records(), strict=True)]
    cells = [massacre.ledger.read(key) for key in KEYS]
    used = [MANY - massacre.ledger.peek(key, 0, NOW).remaining for key in KEYS]

    # Nobody was told of a unit that is not counted, and each who died kept at most one to itself.
    assert all(told <= counted for told, counted in zip(recorded, used, strict=True))
    assert sum(used) - sum(recorded) <= massacre.dismissed
    if limits is TWINS:
        assert [row[:2] for row in cells] == [row[2:4] for row in cells]
        assert [row[4:6] for row in cells] == [row[6:8] for row in cells]
        assert [row[5] for row in cells] == used


def test_whatever_happens_to_others_no_window_has_more_than_its_limit(
    tmp_path: Path, scale: int
) -> None:
    massacre = Massacre(tmp_path, LOGS, "log", 300_000)
    massacre.run(KILLS * scale)

    admitted: dict[int, list[tuple[int, int]]] = {}
    for record in massacre.records():
        for place in range(0, len(record) - 2, 3):
            if record[place]:
                line = (record[place + 1], record[place + 2])
                admitted.setdefault(record[place], []).append(line)

    assert max(most(lines, SECOND) for lines in admitted.values()) <= 300
    cells = [massacre.ledger.read(key) for key in KEYS]
    assert [row[: len(row) // 2] for row in cells] == [row[len(row) // 2 :] for row in cells]


def most(lines: list[tuple[int, int]], span: int) -> int:
    """The most units that surely went in within one span: asked for and known inside it."""
    asked = sorted(lines)
    known = sorted(lines, key=lambda line: line[1])
    found = begun = 0
    for place, (_, end) in enumerate(known):
        while asked[begun][0] <= end - span:
            begun += 1
        # Of those known by now, all but the ones asked for too early.
        found = max(found, place + 1 - begun)
    return found
