"""ASGI: a budget for each request, in front of any ASGI application.

    app = BudgetMiddleware(app, budget, price=5)

A request from another service of ours brings what it may spend; one that comes in here is granted
something. The application has it as `scope["state"]["purse"]`, which is `request.state.purse` in
Starlette and FastAPI, and never sees the header. What is left goes back with the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from headgate.adapters.asgi import booked, refuse, signed
from headgate.adapters.budget.answers import answer
from headgate.adapters.reply import HEADS, App, Message, Receive, Scope, Send
from headgate.budgets.budget import Budget
from headgate.budgets.purse import CURRENT, Purse
from headgate.budgets.terms import Visit
from headgate.errors import FundsExhausted, Refused, StoreUnavailable
from headgate.measures import whole

Finder = Callable[[Scope], Any]


class BudgetMiddleware:
    """Puts a budget in front of an application, which costs `price`: a number, or by the scope.

    `account` and `plan` are functions of the scope that say whose budget it is and what they have
    booked; they are asked about requests that come in here, and without an account all of those
    share one. `reserve` is what such a request is granted at least, and `route` the name under
    which it is found out what others like it have cost.

    A `FundsExhausted` that the application lets through before it has answered is answered here,
    and so is one of which Starlette or FastAPI make a 500, for they let it through as well.
    """

    def __init__(
        self,
        app: App,
        budget: Budget,
        price: int | Finder = 1,
        *,
        account: Finder = signed,
        plan: Finder = booked,
        reserve: int | Finder = 0,
        route: str | Finder = "",
    ) -> None:
        self.app = app
        self.budget = budget
        self._price = finder("price", price)
        self._account, self._plan = account, plan
        self._reserve = finder("reserve", reserve)
        self._route = route if callable(route) else lambda _: route
        self._name = budget.terms.header.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        brought = [value for name, value in scope["headers"] if name == self._name]
        # Two of them are none: no service of ours sends two.
        header = b",".join(brought).decode("latin-1")
        try:
            opened = self.budget.admit(header, lambda: self._visit(scope))
            purse: Purse = opened if isinstance(opened, Purse) else await opened
        except (Refused, StoreUnavailable) as no:
            await refuse(scope, receive, send, answer(no, accept(scope)))
            return
        try:
            await self._serve(purse, scope, receive, send)
        finally:
            await arrived(purse.close())

    async def _serve(self, purse: Purse, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [line for line in scope["headers"] if line[0] != self._name]
        state = {**scope.get("state", {}), "purse": purse}
        told, ear = Head(purse, self._name, scope, send), Ear(receive)
        before = CURRENT.get()
        CURRENT.set(purse)
        try:
            if await self._paid(purse, scope, receive, told):
                inner = {**scope, "headers": headers, "state": state}
                heard = ear.receive if scope["type"] == "websocket" else receive
                await self.app(inner, heard, told.send)
        except Exception as problem:
            no = midway(problem)
            if no is None or (told.begun and not told.refused):
                raise
            if not told.refused:
                await refuse(scope, ear.again, told.send, answer(no, accept(scope)))
        finally:
            CURRENT.set(before)

    async def _paid(self, purse: Purse, scope: Scope, receive: Receive, told: Head) -> bool:
        try:
            await arrived(purse.spend(self._price(scope)))
        except (FundsExhausted, StoreUnavailable) as no:
            await refuse(scope, receive, told.send, answer(no, accept(scope)))
            return False
        return True

    def _visit(self, scope: Scope) -> Visit:
        account, plan = self._account(scope), self._plan(scope)
        reserve, route = self._reserve(scope), self._route(scope)
        return Visit(str(account or ""), str(plan or ""), reserve, str(route or ""))


class Head:
    """The head of an answer, which takes with it what is left.

    `begun` says that there is an answer, `refused` that it is not the application's.
    """

    __slots__ = ("_name", "_purse", "_scope", "_send", "begun", "refused")

    def __init__(self, purse: Purse, name: bytes, scope: Scope, send: Send) -> None:
        self._purse = purse
        self._name = name
        self._scope = scope
        self._send = send
        self.begun = self.refused = False

    def send(self, message: Message) -> Awaitable[Any]:
        """Send one message of the answer."""
        if self.refused:
            return nothing()
        # Starlette says that something went wrong, and lets it through afterwards.
        if not self.begun and message.get("status") == 500 and self._scope["type"] == "http":
            no = midway(sys.exc_info()[1])
            if no is not None:
                self.refused = True
                said = answer(no, accept(self._scope))
                return refuse(self._scope, nothing, self._tell, said)
        return self._tell(message)

    def _tell(self, message: Message) -> Awaitable[None]:
        self.begun = True
        if message["type"] in HEADS:
            # What others wrote there is not ours, and outside nobody is told.
            lines = [line for line in message.get("headers", ()) if line[0].lower() != self._name]
            back = self._purse.answer()
            if back:
                lines.append((self._name, back.encode("ascii")))
            message = {**message, "headers": lines}
        return self._send(message)


class Ear:
    """What a WebSocket's client says; that it would like to connect is told as often as asked."""

    __slots__ = ("_first", "_receive")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first: Message | None = None

    async def receive(self) -> Message:
        """The next message, as the application wants it."""
        message = await self._receive()
        if self._first is None:
            self._first = message
        return message

    async def again(self) -> Message:
        """The first one; a second does not come before there is an answer."""
        return await self._receive() if self._first is None else self._first


def finder(word: str, given: int | Callable[[Any], Any]) -> Callable[[Any], int]:
    """A function that says a number: the same for all, or by the request."""
    if callable(given):
        return given
    number = whole("BudgetMiddleware", word, given, 0, 1 << 50)
    return lambda _: number


async def nothing() -> Message:
    """What a client says of whom nothing is to be heard."""
    return {}


def midway(problem: BaseException | None) -> FundsExhausted | None:
    """The one that this is, or that all in a group of them are, as tasks leave them behind."""
    while isinstance(problem, BaseExceptionGroup) and problem.split(FundsExhausted)[1] is None:
        problem = problem.exceptions[0]
    return problem if isinstance(problem, FundsExhausted) else None


def accept(scope: Scope) -> str:
    """In which form the client would like to be told."""
    found = [value for name, value in scope["headers"] if name == b"accept"]
    return b", ".join(found).decode("latin-1")


async def arrived(answer: Any) -> Any:
    return answer if answer is None else await answer
