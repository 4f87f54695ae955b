"""Rulebook: the rules in force, as the master keeps them for whoever stands at a post next.

Workers find new rules by themselves and tell of them, so that it is as new as the newest of them.
How sockets are listened on is what it was when they were opened, whatever rules say since: a worker
that dies does not change what is spoken at a port.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from headgate.errors import HeadgateError
from headgate.rules.model.kinds import Report
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import Text
from headgate.telemetry.board import fresh
from headgate.workers.orders import Orders
from headgate.workers.origin import LISTENERS


class Rulebook:
    """The `text` in force, the terms to `listen` by, and what is on `trial` beside.

    `changed` is called when a worker tells of another text. What one worker has signed with the
    `secret`, another knows. All count on the `board`, if there is one.
    """

    def __init__(
        self, orders: Orders, text: Text, listen: tuple[Any, ...],
        changed: Callable[[], object], secret: str = "", workers: int = 1,
    ) -> None:  # fmt: skip
        self.orders = orders
        self.text = text
        self.listen = listen
        self._changed = changed
        self.secret = secret or secrets.token_urlsafe(32)
        # Nothing is lost with a worker of what it has counted there.
        self.board = fresh(orders.serves, workers)
        self.trial: dict[str, Any] | None = None

    def rules(self) -> Rules:
        """The rules in force."""
        return self.orders.origin.amend(self.text).rules()

    def told(self) -> dict[str, Any]:
        """What a worker is told of it as it begins."""
        return {
            "orders": self.orders.told(),
            "listen": LISTENERS[self.orders.serves].spell(self.listen),
            "text": spelled(self.text),
            "secret": self.secret,
            "board": "" if self.board is None else self.board.path,
            "trial": self.trial,
        }

    def hear(self, said: list[str]) -> None:
        """A worker goes by this text."""
        text = heard(said)
        if text != self.text:
            self.text = text
            self._changed()

    def close(self) -> None:
        """Nobody counts any more."""
        if self.board is not None:
            self.board.remove()

    async def look(self) -> None:
        """Take what stands at the origin now, if it can be read."""
        with suppress(HeadgateError, OSError, ValueError):
            draft = await asyncio.to_thread(self.orders.origin.fetch, "")
            await asyncio.to_thread(draft.rules)
            self.hear(spelled(draft.text))


def terms(serves: str, said: Any) -> tuple[Any, ...]:
    """The terms to listen by, as they were told."""
    found: tuple[Any, ...] = LISTENERS[serves].read(said, (), Report())
    return found


def spelled(text: Text) -> list[str]:
    """A text as plain data; its bytes may be anything."""
    return [text.mark, text.text.decode("latin-1"), text.form, text.seal, text.title]


def heard(said: list[str]) -> Text:
    """The text again."""
    mark, text, form, seal, title = said
    return Text(mark, text.encode("latin-1"), form, seal, title)
