"""Clerk: answers at a reception what is not asked all the time, takes time, or goes wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any

from headgate.adapters import arrivals
from headgate.errors import HeadgateError, StoreUnavailable
from headgate.service.http.api import ROUTES
from headgate.service.http.asking import Asking
from headgate.service.http.auth import refused
from headgate.service.http.saying import Answer, Trouble, complaint, sentence
from headgate.service.stamp import BadTicket
from headgate.service.teller import Unknown
from headgate.wire.exchange import Exchange

logger = logging.getLogger("headgate.service")

# After these the connection ends: who is misunderstood once may be again.
FATAL = frozenset({400, 405, 408, 413, 414, 417, 431, 501})


class Clerk:
    """Answers for a reception, in tasks where something has to be waited for."""

    def __init__(self, reception: Any) -> None:
        self.reception = reception
        self.hall = reception.hall
        self.routes = ROUTES
        self.arrivals = arrivals.Reception(self.hall.keeper, nobody, nobody)
        self.tasks: set[asyncio.Task[Any]] = set()

    def attend(self, exchange: Exchange) -> None:
        """Answer a request that is whole."""
        try:
            found = self._find(exchange)
        except Exception as problem:
            found = explain(problem)
        if type(found) is tuple:
            self.reception.reply(exchange, *found)
        else:
            self.wait(exchange, found)

    def object(self, exchange: Exchange, status: int) -> None:
        """Answer what is no request."""
        if status in FATAL:
            exchange.keep = False
        _, fields, body = complaint(status)
        self.reception.reply(exchange, refused(exchange.target) or status, fields, body)

    def wait(self, exchange: Exchange, found: Any) -> None:
        """Answer when it is known what."""
        exchange.inlet.deadline = 0
        exchange.task = self.begin(self._wait(exchange, found))
        # One that was given up before it began has not been awaited.
        exchange.task.add_done_callback(
            lambda _: found.close() if isinstance(found, Coroutine) else None
        )

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do in a task what takes time."""
        task = self.hall.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task  # type: ignore[no-any-return]

    def abandon(self, exchange: Exchange) -> None:
        """Give up what was begun for an exchange: nobody waits for it any more."""
        exchange.over = True
        task, exchange.task = exchange.task, None
        if task is not None:
            task.cancel()
        exchange.outlet = exchange.backlog = None

    def _find(self, exchange: Exchange) -> Any:
        # The answer, or what is to be awaited for it.
        target, mark, query = exchange.target.partition(b"?")
        route, parts = self.routes.find(exchange.method.decode("ascii"), target)
        asking = Asking(self, exchange, parts, query)
        if not route.open:
            asking.identify(route.header)
        return route.answer(asking)

    async def _wait(self, exchange: Exchange, found: Awaitable[Answer]) -> None:
        try:
            answer = await found
        except Exception as problem:
            answer = explain(problem)
        exchange.task = None
        self.reception.reply(exchange, *answer)


def explain(problem: Exception) -> Answer:
    """The answer where there is no other."""
    if isinstance(problem, Trouble):
        return problem.answer()
    if isinstance(problem, Unknown):
        return Trouble(404, sentence(problem)).answer()
    if isinstance(problem, BadTicket):
        return Trouble(404 if problem.reason == "forged" else 410, sentence(problem)).answer()
    if isinstance(problem, StoreUnavailable):
        return Trouble(503, "The store could not be asked.").answer()
    if isinstance(problem, HeadgateError):
        return Trouble(400, sentence(problem)).answer()
    logger.error("a request could not be answered", exc_info=problem)
    return complaint(500)


def nobody(source: object) -> str:
    """Who a request is from is not known here but by its headers."""
    return ""
