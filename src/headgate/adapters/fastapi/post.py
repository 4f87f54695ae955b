"""Post: the gatekeepers of one application, how they are asked, and what a refusal becomes."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from headgate.adapters.annex import Annex, Terms
from headgate.adapters.arrivals import VIEW, Reception
from headgate.adapters.asgi import Arrival, Finder, booked, closing, refuse, signed
from headgate.adapters.http.herald import Answer, detail
from headgate.adapters.reply import App, Receive, Reply, Scope, Send
from headgate.clock import Clock
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.live.shelf import sound
from headgate.rules.model.rules import Rules

POST = "headgate.post"
REPLY = "headgate.reply"
HANDLERS = "starlette.exception_handlers"


class RequestRefused(HTTPException):
    """A refusal on its way to the client; `entry` has what became of the request."""

    def __init__(self, entry: Entry, answer: Answer) -> None:
        status, fields, _ = answer
        said = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
        refusal: Any = entry.refusal
        # For handlers that make a body of their own.
        super().__init__(
            status,
            detail(refusal, refusal.policy or refusal.rule.name) or "Denied.",
            {name: said[name] for name in said if not name.startswith("content-")},
        )
        self.entry = entry
        self.answer = answer


async def explain(connection: Any, problem: Any) -> Any:
    """The handler of `RequestRefused`: the answer that it carries, over HTTP or to a WebSocket."""
    return functools.partial(refuse, answer=problem.answer)


class Post:
    """The gatekeepers of one application, and how they are asked."""

    def __init__(
        self,
        rules: Source | AsyncGatekeeper,
        store: str,
        user: Finder | None,
        plan: Finder | None,
        clock: Clock | None,
    ) -> None:
        self._own = not isinstance(rules, AsyncGatekeeper)
        self.keeper = (
            rules if isinstance(rules, AsyncGatekeeper) else AsyncGatekeeper(rules, store, clock)
        )
        self.reception = Reception(self.keeper, user or signed, plan or booked)
        self._store = sound(store) if store else ""
        self._clock = clock
        self._annexes: dict[str, Annex[AsyncGatekeeper]] = {}
        self._places: dict[tuple[str, Any], str] = {}

    async def ask(
        self, terms: Terms, store: str, scope: Scope, reply: Reply | None
    ) -> tuple[AsyncGatekeeper, Entry]:
        """Ask the rule of a route; raises `RequestRefused`."""
        annex = self._annex(store or self._store)
        manners = self.reception.manners
        visitor = Visitor(scope, manners)
        visitor.view = annex.find(terms, self._place(scope))
        entry = await annex.keeper.enter(visitor)
        if entry.refusal is None:
            return annex.keeper, entry
        if HANDLERS in scope:
            scope[HANDLERS][0].setdefault(RequestRefused, explain)
        told = entry if reply is None else reply.told(entry)
        raise RequestRefused(entry, manners.herald.answer(told, visitor.header("accept")))

    async def close(self) -> None:
        """Close the connections to all stores, but not those that others use as well."""
        if self._own:
            await self.keeper.close()
        for annex in self._annexes.values():
            await annex.keeper.close()

    def _annex(self, store: str) -> Annex[AsyncGatekeeper]:
        annex = self._annexes.get(store)
        if annex is None:
            annex = self._annexes[store] = Annex(AsyncGatekeeper, self.keeper, store, self._clock)
        return annex

    def _place(self, scope: Scope) -> str:
        # What the route is called; with its module where others are called so too, for processes
        # that share a store must call it alike, whichever they meet first.
        name, endpoint = scope["route"].name, scope["endpoint"]
        place = self._places.get((name, endpoint))
        if place is None:
            names = Counter(title for title, _ in {*endpoints(scope["app"].routes)})
            place = name if names[name] < 2 else f"{endpoint.__module__}.{name}"
            self._places[name, endpoint] = place
        return place


class Visitor(Arrival):
    """A request at a route, whose rule asks for it by name."""

    __slots__ = ("view",)

    view: str

    def header(self, name: str) -> str:
        """The header of this name."""
        return self.view if name == VIEW else super().header(name)


class Porch:
    """Around the whole application: asks the rules of the file, and sees every answer."""

    def __init__(self, app: App, post: Post) -> None:
        self.app = app
        self._post = post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, closing(send, self._post.close))
            return
        post = scope[POST] = self._post
        manners = post.reception.manners
        request = Arrival(scope, manners)
        entry = scope["headgate"] = await post.keeper.enter(request)
        if entry.refusal is not None:
            answer = manners.herald.answer(entry, request.header("accept"))
            await refuse(scope, receive, send, answer)
            return
        reply = scope[REPLY] = Reply(scope, receive, send, manners.herald.fields)
        reply.add(post.keeper, entry)
        await reply.serve(self.app)


def stationed(app: FastAPI) -> Post:
    """The gatekeepers of an application that nobody has configured."""
    post: Post | None = getattr(app.state, "headgate", None)
    if post is None:
        post = app.state.headgate = Post(Rules(), "", None, None, None)
    return post


def endpoints(routes: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The routes of an application by name, with those of the routers that it includes."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from endpoints(inner.routes)
        elif hasattr(route, "endpoint"):
            yield route.name, route.endpoint
