"""Ward: what serves by rules in an event loop, as the thread of a watcher changes it."""

from __future__ import annotations

import asyncio
from typing import Any

from headgate.rules.model.rules import Rules


class Ward:
    """Whoever serves by rules in an event loop, as a watcher's thread sees it.

    All that the rules say changes with them, in one step.
    """

    def __init__(self, server: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self.lodge: Any = server.keeper.lodge

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        found: Rules = self._server.keeper.rules
        return found

    @property
    def version(self) -> str:
        """Their name."""
        return str(self._server.keeper.version)

    def change(self, rules: Rules) -> Rules:
        """Go by others, all at once; raises, and changes nothing, if they are bad."""
        return asyncio.run_coroutine_threadsafe(self._change(rules), self._loop).result()

    async def _change(self, rules: Rules) -> Rules:
        return self._server.change(rules)  # type: ignore[no-any-return]
