"""Purser: grants requests what they may cost behind the gateway, and takes back what they leave.

What a client says of a budget is never passed on, and no client is told of one.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from headgate.adapters.budget.answers import answer
from headgate.budgets.budget import Budget
from headgate.budgets.fund import Fund
from headgate.budgets.note import digest
from headgate.budgets.purse import Loan, Purse
from headgate.budgets.terms import Visit
from headgate.errors import HeadgateError
from headgate.rules.matching.facts import composer
from headgate.wire.exchange import Exchange
from headgate.wire.heads import teller
from headgate.wire.names import freed, untied
from headgate.wire.scroll import Scroll


class Purser:
    """Looks after the budgets of requests, as the rules in force will have it."""

    def __init__(self, desk: Any, errands: Any, budget: Budget) -> None:
        self.desk = desk
        self.errands = errands
        self.budget = budget
        self.name = budget.terms.header.encode("ascii")
        rules = desk.lodge.book.rules
        self._key = composer(rules.budget.key)
        self._plan = desk.book.plan

    def fund(self, exchange: Exchange) -> None:
        """Grant a request something, and send it on its way."""
        if exchange.road is None:
            exchange.road = self.desk.roads.find(self.desk.meet(exchange))
        if exchange.road is None or not exchange.road.route.budget:
            # It costs nothing, and whoever serves it is told of none, by the client neither.
            exchange.said = untied(exchange.said, self.name)
            self.desk.forward(exchange)
            return
        if not self.desk.lodge.enabled:
            # Where no rule is asked, nobody is to go short.
            free = Purse(self.budget, Fund(0, True), digest(""), self.budget.terms.grant)
            self.endow(exchange, free)
            return
        request = self.desk.meet(exchange)
        try:
            found = self.budget.admit("", lambda: self._visit(request))
        except HeadgateError as no:
            self.refuse(exchange, no)
            return
        if isinstance(found, Purse):
            self.endow(exchange, found)
        else:
            exchange.inlet.deadline = 0
            task = self.errands.begin(exchange, self._fund(exchange, found))
            # One that was given up before it began has not been awaited.
            task.add_done_callback(lambda _: found.close())

    async def _fund(self, exchange: Exchange, found: Awaitable[Purse]) -> None:
        try:
            purse = await found
        except HeadgateError as no:
            exchange.task = None
            self.refuse(exchange, no)
            return
        except Exception as problem:
            exchange.task = None
            self.errands.baffle(exchange, problem)
            return
        exchange.task = None
        self.endow(exchange, purse)

    def endow(self, exchange: Exchange, purse: Purse) -> None:
        """Give a request its purse."""
        exchange.purse = Trip(purse, self.name, self.errands)
        self.desk.forward(exchange)

    def refuse(self, exchange: Exchange, no: HeadgateError) -> None:
        """Answer one for which there is nothing."""
        self.desk.refused += 1
        accept = self.desk.meet(exchange).header("accept")
        status, fields, body = answer(no, accept)
        told = self.desk.manners.herald.fields(exchange.entry)
        self.desk.reply(exchange, status, [*fields, *told], body)

    def _visit(self, request: Any) -> Visit:
        return Visit(self._key(request), self._plan(request), route=request.road)


def appointed(desk: Any, errands: Any) -> Purser | None:
    """Who looks after budgets under the rules in force; None if there are none."""
    budget = desk.lodge.budget()
    return None if budget is None else Purser(desk, errands, budget)


class Trip:
    """The purse of a request that is on its way to a server and back."""

    __slots__ = ("_errands", "_loan", "_name", "purse")

    def __init__(self, purse: Purse, name: bytes, errands: Any) -> None:
        self.purse = purse
        self._name = name
        self._errands = errands
        self._loan: Loan | None = None

    def begin(self, exchange: Exchange) -> None:
        """Give a request all there is, now that there is somebody to send it to.

        One that is sent once more has what there still is: whoever was sent it first may have spent
        the rest, although nobody has heard of it.
        """
        self._loan = self.purse.lend()
        kept = untied(exchange.said, self._name)
        exchange.said = [*kept, self._name, self._loan.text.encode("ascii")]

    def end(self, exchange: Exchange, scroll: Scroll) -> None:
        """Take back what an answer's head brings, which nobody else is told."""
        head = scroll.take()
        if self._loan is not None:
            self._loan.settle(teller(head)(self._name.decode("ascii")))
        scroll.add(freed(head, self._name))
        self.close(exchange)

    def close(self, exchange: Exchange) -> None:
        """Give back what is left, which may take a moment."""
        exchange.purse = None
        closing = self.purse.close()
        if closing is not None:
            self._errands.begin(None, closing)
