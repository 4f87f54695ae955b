"""What the tests of watchers have in common: rules as texts, a file of them, who is told."""

from __future__ import annotations

import json
import os
import queue
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from headgate.clock import ManualClock
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.rules.watch.watcher import Status, Watcher

API: dict[str, Any] = {"name": "api", "key": "client.ip", "limit": "5/min"}
# Seconds that a thread may take to do what it does at once.
PATIENCE = 20.0


def spelled(*rules: dict[str, Any], **said: Any) -> str:
    """Rules as a JSON text."""
    return json.dumps({"version": 1, "rules": [*rules], **said})


def limited(limit: str) -> str:
    """One rule that lets a client do so much."""
    return spelled({**API, "limit": limit})


@cache
def version(text: str) -> str:
    """What the rules of a text are called."""
    return Rules.read(text, "json").digest


def visit(keeper: Gatekeeper, client: str = "192.0.2.1", **said: Any) -> Any:
    """What is decided about a request."""
    return keeper.enter(Request(client=client, **said))


def left(keeper: Gatekeeper, rule: str = "api", **said: Any) -> int:
    """What a client has left after one request more; -1 if that is refused."""
    entry = visit(keeper, **said)
    return int(entry.decisions[rule].remaining) if entry else -1


class Desk:
    """A file of rules, a gatekeeper that was made of it, and a watcher that nobody has started."""

    def __init__(self, folder: Path, text: str, store: str = "", clock: Any = None) -> None:
        self.file = folder / "rules.json"
        self.file.write_text(text)
        self.clock = ManualClock() if clock is None else clock
        self.keeper = Gatekeeper(self.file, store, self.clock)
        # The rules' own time stands still while a file settles.
        self.watcher = Watcher(self.keeper, self.file, clock=ManualClock())
        self.watcher.look()

    def change(self, text: str) -> bool:
        """Have the file say something else, as an editor would, and look at it."""
        replace(self.file, text)
        return self.watcher.look()


def replace(file: Path, text: str) -> None:
    """Write beside the file, and rename."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text)
    os.replace(beside, file)


def heard(watcher: Watcher) -> Callable[[Callable[[Status], bool]], Status]:
    """A function that waits for a status of which something is true."""
    told: queue.Queue[Status] = queue.Queue()
    watcher.listen(told.put)

    def wait(wanted: Callable[[Status], bool]) -> Status:
        for status in iter(lambda: told.get(timeout=PATIENCE), None):
            if wanted(status):
                return status
        raise AssertionError

    return wait
