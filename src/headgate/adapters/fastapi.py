"""FastAPI: limits at single routes, as dependencies or as decorators.

    @app.get("/search", dependencies=[Depends(limit("5/min", key="client.ip"))])
    async def search(): ...

    @app.post("/login")
    @limited("5/min", key="client.ip")
    def login(): ...

Nothing has to be set up for that. `configure(app, "rules.yaml", store="redis://...")` puts rules in
front of all routes, and says for their limits where counts are kept and who the client is. It also
sees every answer on its way out. Rules about answers need that (`bandwidth`, `counts`, `breaker`,
and costs in the answer), and so do headers where a route makes a `Response` itself.

A refusal is a `RequestRefused`, an `HTTPException` that carries the whole answer. FastAPI would
make `{"detail": ...}` of it. So that it becomes the problem it is, with nothing to set up, its
handler is put among those of the application when it is first raised; one that is there already
stays.

Each limit is asked when its turn comes: what one has counted stays counted if the next one refuses.
Limits in one list, as in `limit(["5/s", "100/h"])`, all agree or none has counted.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar

from headgate.adapters.annex import Annex, Terms
from headgate.adapters.arrivals import VIEW, Reception
from headgate.adapters.asgi import Arrival, Finder, booked, closing, refuse, signed
from headgate.adapters.http.herald import Answer, detail
from headgate.adapters.reply import App, Receive, Reply, Scope, Send
from headgate.clock import Clock
from headgate.errors import MissingExtra
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.model.rules import Rules

try:
    from fastapi import Depends, FastAPI, Response
    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection
except ImportError:
    raise MissingExtra("fastapi") from None

F = TypeVar("F", bound=Callable[..., Any])

POST = "headgate.post"
REPLY = "headgate.reply"
HANDLERS = "starlette.exception_handlers"
# What a rule can only do if it sees the answer.
WATCHFUL = ("bandwidth", "counts", "breaker")


def limit(rate: Any = (), /, store: str = "", **fields: Any) -> Gate:
    """A limit as a dependency, with any field of a `Rule`; it gives the `Entry`.

    The rule is called after the route, unless it is given a name. Under one name, routes count
    together. `store` is for this limit alone.
    """
    return Gate(Terms(rate, fields), store)


def limited(rate: Any = (), /, store: str = "", **fields: Any) -> Callable[[F], F]:
    """A limit as a decorator, below that of the route: `@limited("5/min", key="client.ip")`."""
    gate = limit(rate, store, **fields)

    def decorate(function: F) -> F:
        return guarded(function, gate)

    return decorate


def configure(
    app: FastAPI,
    rules: Source | None = None,
    store: str = "",
    user: Finder | None = None,
    plan: Finder | None = None,
    clock: Clock | None = None,
) -> None:
    """Put rules in front of an application, and have the limits of its routes go by them.

    `rules` are a file or a `Rules` value; without them only the limits of routes count. `user` and
    `plan` are functions of the scope that say who a request is from and what they have booked.
    Sub-applications that are mounted go by the same, if they are not configured themselves.
    """
    if hasattr(app.state, "headgate"):
        raise ValueError(f'configure: "{app.title}" is configured already, or in use')
    post = app.state.headgate = Post(Rules() if rules is None else rules, store, user, plan, clock)
    app.add_exception_handler(RequestRefused, explain)
    app.add_middleware(Porch, post=post)


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


class Gate:
    """A limit that FastAPI asks before a route, and tells when it is answered."""

    def __init__(self, terms: Terms, store: str) -> None:
        self.terms = terms
        self.store = store
        rule = terms.rule
        needs = [word for word in WATCHFUL if getattr(rule, word)]
        self._needs = needs + ["cost"] * any(cost.later for cost in rule.cost)

    async def __call__(
        self, connection: HTTPConnection, response: Response
    ) -> AsyncIterator[Entry]:
        """The entry of one request; raises `RequestRefused`."""
        scope = connection.scope
        post = scope.get(POST) or stationed(connection.app)
        reply = scope.get(REPLY)
        if reply is None and self._needs:
            raise RuntimeError(
                f"limit: {self._needs[0]} is about the answer, which a dependency does not see; "
                "call configure(app)"
            )
        keeper, entry = await post.ask(self, scope, reply)
        if reply is not None:
            reply.add(keeper, entry)
            yield entry
            return
        response.headers.raw.extend(post.reception.manners.herald.fields(entry))
        status = 0
        try:
            yield entry
            status = 200
        except HTTPException as problem:
            status = problem.status_code
            raise
        finally:
            await keeper.leave(entry, status)


class Post:
    """The gatekeepers of one application, and how they are asked."""

    def __init__(
        self,
        rules: Source,
        store: str,
        user: Finder | None,
        plan: Finder | None,
        clock: Clock | None,
    ) -> None:
        self.keeper = AsyncGatekeeper(rules, store, clock)
        self.reception = Reception(self.keeper, user or signed, plan or booked)
        self._store = store
        self._clock = clock
        self._annexes: dict[str, Annex[AsyncGatekeeper]] = {}
        self._places: dict[tuple[str, Any], str] = {}

    async def ask(
        self, gate: Gate, scope: Scope, reply: Reply | None
    ) -> tuple[AsyncGatekeeper, Entry]:
        """Ask the rule of a route; raises `RequestRefused`."""
        annex = self._annex(gate.store or self._store)
        manners = self.reception.manners
        visitor = Visitor(scope, manners)
        visitor.view = annex.find(gate.terms, self._place(scope))
        entry = await annex.keeper.enter(visitor)
        if entry.refusal is None:
            return annex.keeper, entry
        if HANDLERS in scope:
            scope[HANDLERS][0].setdefault(RequestRefused, explain)
        told = entry if reply is None else reply.told(entry)
        raise RequestRefused(entry, manners.herald.answer(told, visitor.header("accept")))

    async def close(self) -> None:
        """Close the connections to all stores."""
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


def guarded(function: F, gate: Gate) -> F:
    """The function with one more parameter, which FastAPI fills in by asking the gate."""
    signature = inspect.signature(function)
    name = "headgate"
    while name in signature.parameters:
        name += "_"

    @functools.wraps(function)
    async def aopened(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return await function(*args, **kwargs)

    @functools.wraps(function)
    def opened(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return function(*args, **kwargs)

    found: Any = aopened if inspect.iscoroutinefunction(function) else opened
    asking = Annotated[Entry, Depends(gate)]
    extra = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=asking)
    parameters = sorted([*signature.parameters.values(), extra], key=lambda one: one.kind)
    found.__signature__ = signature.replace(parameters=parameters)
    return found  # type: ignore[no-any-return]


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
