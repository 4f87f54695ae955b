"""A visitor: asks a gatekeeper of either colour, in virtual time, and says how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from headgate import ManualClock
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

COLOURS = ("sync", "async")


class Visitor:
    """Sends requests to a gatekeeper and keeps its clock."""

    def __init__(self, colour: str, rules: Rules, store: str = "") -> None:
        self.clock = ManualClock()
        self.loop = asyncio.new_event_loop() if colour == "async" else None
        kind: Any = AsyncGatekeeper if colour == "async" else Gatekeeper
        self.keeper = kind(rules, store, self.clock)

    def ask(self, path: str = "/", **said: Any) -> Entry:
        """What becomes of a request; headers are given by their names with underscores."""
        words = ("client", "user", "plan", "query", "method", "host")
        known = {word: said.pop(word) for word in words if word in said}
        headers = {name.replace("_", "-"): value for name, value in said.items()}
        request = Request(known.pop("method", "GET"), path, headers, **known)
        entry: Entry = self.run(self.keeper.enter(request))
        return entry

    def say(self, path: str = "/", **said: Any) -> str:
        """`ask`, answered by the name of the rule that refused, or nothing; and left again."""
        entry = self.ask(path, **said)
        if entry:
            self.leave(entry)
        return entry.rule

    def leave(self, entry: Entry, status: int = 200, size: int = 0, **headers: str) -> None:
        """Say how a request ended."""
        found = {name.replace("_", "-"): value for name, value in headers.items()}
        self.run(self.keeper.leave(entry, status, lambda name: found.get(name, ""), size))

    def pour(self, entry: Entry, size: int) -> float:
        """How long it takes until so many bytes may be sent, in seconds."""
        begun = self.clock.now()
        self.run(self.keeper.pour(entry, size))
        return (self.clock.now() - begun) / 1e6

    def run(self, answer: Any) -> Any:
        """The answer, waited for if it has to be."""
        return answer if self.loop is None else self.loop.run_until_complete(answer)

    def close(self) -> None:
        """Close what is open."""
        self.run(self.keeper.close())
        if self.loop is not None:
            self.loop.close()


Visit = Callable[..., Visitor]


def rules(*some: Rule, **settings: Any) -> Rules:
    """Rules of these."""
    return Rules(some, **settings)
