"""A clerk: a worker of its own that asks a teller as it is told, line by line. Run as a program."""

from __future__ import annotations

import asyncio
from inspect import isawaitable
from typing import Any

from headgate.rules import AsyncGatekeeper, Rule, Rules
from headgate.service.stamp import BadTicket
from headgate.service.teller import Teller
from tests.service.counters import SECRET
from tests.stores.obey import serve


class Clerk:
    """One worker, and the teller it has."""

    def open(self, url: str, rules: list[dict[str, Any]]) -> str:
        """Ask a teller at this store, until `close`."""
        self.runner = asyncio.Runner()
        self.keeper = AsyncGatekeeper(Rules([Rule(**one) for one in rules]), url)
        self.teller = Teller(self.keeper, SECRET)
        return "open"

    def close(self) -> str:
        """Let go of the store."""
        self.runner.run(self.part())
        self.runner.close()
        return "closed"

    async def part(self) -> None:
        await self.teller.close()
        await self.keeper.close()

    def ask(self, verb: str, said: list[Any]) -> Any:
        return self.runner.run(self.wait(verb, said))

    async def wait(self, verb: str, said: list[Any]) -> Any:
        answer = getattr(self.teller, verb)(*said)
        return await answer if isawaitable(answer) else answer

    def reserve(self, key: str) -> str:
        """Book one unit; the id."""
        return str(self.ask("reserve", ["tokens", key]).id)

    def left(self, key: str) -> int:
        return int(self.ask("peek", ["tokens", key, 0]).remaining)

    def cancel(self, ids: list[str]) -> list[str]:
        """Cancel them all; those that were given back."""
        done = []
        for one in ids:
            try:
                self.ask("cancel", [one])
            except BadTicket:
                continue
            done.append(one)
        return done

    def hold(self, key: str, times: int) -> list[str]:
        """Ask so often for a place; the ids of those that were had."""
        found = [self.ask("hold", ["desk", key, 600.0]) for _ in range(times)]
        return [hold.id for hold in found if hold]

    def release(self, ids: list[str]) -> int:
        """Give them back; how many were held still."""
        return sum(self.ask("release", [one]) for one in ids)

    def inside(self, key: str) -> int:
        return int(self.ask("inside", ["desk", key]))


if __name__ == "__main__":
    serve(Clerk)
