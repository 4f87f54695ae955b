"""WSGI: a budget for each request, in front of any WSGI application.

    app = BudgetMiddleware(app, budget, price=5)

It does what the one for ASGI does. The application has the purse as `headgate.purse` in the
environ. The budget's limit is a `Limiter`: nobody awaits here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headgate.adapters.arrivals import variable
from headgate.adapters.budget.answers import answer
from headgate.adapters.budget.asgi import finder
from headgate.adapters.stay import lines
from headgate.adapters.wsgi import PHRASES, App, Environ, Lines, Start, booked, signed
from headgate.budgets.budget import Budget
from headgate.budgets.purse import CURRENT, Purse
from headgate.budgets.terms import Visit
from headgate.errors import FundsExhausted, HeadgateError, Refused, StoreUnavailable

Finder = Callable[[Environ], Any]


class BudgetMiddleware:
    """Puts a budget in front of an application, which costs `price`: a number, or by the environ.

    `account`, `plan`, `reserve` and `route` are those of the one for ASGI, with an environ for a
    scope.
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
        if budget.far:
            raise TypeError("BudgetMiddleware: nobody awaits here; give the budget a Limiter")
        self.app = app
        self.budget = budget
        self._price = finder("price", price)
        self._account, self._plan = account, plan
        self._reserve = finder("reserve", reserve)
        self._route = route if callable(route) else lambda _: route
        self._variable = variable(budget.terms.header)

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        header = environ.pop(self._variable, "")
        accept = environ.get("HTTP_ACCEPT", "")
        try:
            purse = self.budget.admit(header, lambda: self._visit(environ))
        except (Refused, StoreUnavailable) as no:
            return said(environ, start_response, answer(no, accept))
        environ["headgate.purse"] = purse
        head = Head(purse, environ, start_response)
        before = CURRENT.get()
        CURRENT.set(purse)
        try:
            body = self._serve(environ, head)
        except BaseException:
            purse.close()
            raise
        finally:
            CURRENT.set(before)
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(wrapper, type) and isinstance(body, wrapper):
            # A file that the server sends by itself spends nothing any more.
            purse.close()
            return body
        return Body(head, body)

    def _serve(self, environ: Environ, head: Head) -> Iterable[bytes]:
        try:
            head.purse.spend(self._price(environ))
        except (FundsExhausted, StoreUnavailable) as no:
            return head.refuse(no)
        try:
            return self.app(environ, head.start)
        except FundsExhausted as no:
            if head.begun:
                raise
            return head.refuse(no)

    def _visit(self, environ: Environ) -> Visit:
        account, plan = self._account(environ), self._plan(environ)
        reserve, route = self._reserve(environ), self._route(environ)
        return Visit(str(account or ""), str(plan or ""), reserve, str(route or ""))


class Head:
    """The head of an answer, which takes with it what is left."""

    __slots__ = ("_back", "_environ", "_start", "begun", "purse")

    def __init__(self, purse: Purse, environ: Environ, start: Start) -> None:
        self.purse = purse
        self._environ = environ
        self._start = start
        self._back = ""
        self.begun = False

    def start(self, status: str, headers: Lines, exc_info: Any = None) -> Any:
        """As the application begins its answer."""
        self.begun = True
        name = self.purse.budget.terms.header
        # What others wrote there is not ours, and outside nobody is told.
        kept = [line for line in headers if line[0].lower() != name]
        # An application may begin anew while nothing is sent, and what is left goes back once.
        back = self._back = self._back or self.purse.answer()
        return self._start(status, [*kept, (name, back)] if back else kept, exc_info)

    def refuse(self, no: HeadgateError) -> Iterable[bytes]:
        """Answer in the application's place."""
        return said(self._environ, self.start, answer(no, self._environ.get("HTTP_ACCEPT", "")))


class Body:
    """The body of an answer; what is made of it while it is sent is paid from the purse."""

    __slots__ = ("_body", "_head", "_parts")

    def __init__(self, head: Head, body: Iterable[bytes]) -> None:
        self._head = head
        self._body: Any = body
        self._parts: Iterator[bytes] | None = None

    def __iter__(self) -> Body:
        return self

    def __next__(self) -> bytes:
        before = CURRENT.get()
        CURRENT.set(self._head.purse)
        try:
            if self._parts is None:
                self._parts = iter(self._body)
            return next(self._parts)
        except FundsExhausted as no:
            # An application that is a generator begins when its body is asked for.
            if self._head.begun:
                raise
            self._parts = iter(self._head.refuse(no))
            return next(self._parts)
        finally:
            CURRENT.set(before)

    def close(self) -> None:
        """Close what the parts come from, and give back what is left."""
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            self._head.purse.close()


def said(environ: Environ, start: Start, answer: Any) -> Iterable[bytes]:
    """Answer in the application's place."""
    status, fields, body = answer
    start(PHRASES.get(status) or f"{status} Refused", lines(fields))
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
