"""FastAPI: limits at single routes, as dependencies or as decorators.

    @app.get("/search", dependencies=[Depends(limit("5/min", key="client.ip"))])
    async def search(): ...

    @app.post("/login")
    @limited("5/min", key="client.ip")
    def login(): ...

`limit` itself may stand above a function as `limited` does.

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

from collections.abc import Callable
from typing import Any, TypeVar

from headgate.errors import MissingExtra

try:
    from fastapi import FastAPI
except ImportError:
    raise MissingExtra("fastapi") from None

from headgate.adapters.annex import Terms
from headgate.adapters.asgi import Finder
from headgate.adapters.fastapi.finder import knowing
from headgate.adapters.fastapi.gate import Gate, Room, guarded
from headgate.adapters.fastapi.post import Porch, Post, RequestRefused, explain
from headgate.clock import Clock
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.model.rules import Rules

__all__ = ["RequestRefused", "configure", "limit", "limited"]

F = TypeVar("F", bound=Callable[..., Any])


def limit(rate: Any = (), /, store: str = "", **fields: Any) -> Gate | Room:
    """A limit as a dependency, with any field of a `Rule`; it gives the `Entry`.

    The rule is called after the route, unless it is given a name. Under one name, routes count
    together. `store` is for this limit alone.
    """
    gate = Gate(Terms(rate, fields), store)
    rule = gate.terms.rule
    return Room(gate) if rule.concurrent or rule.adaptive else gate


def limited(rate: Any = (), /, store: str = "", **fields: Any) -> Callable[[F], F]:
    """A limit as a decorator, below that of the route: `@limited("5/min", key="client.ip")`."""
    gate = limit(rate, store, **fields)

    def decorate(function: F) -> F:
        return guarded(function, gate)

    return decorate


def configure(
    app: FastAPI,
    rules: Source | AsyncGatekeeper | None = None,
    store: str = "",
    user: Finder | None = None,
    plan: Finder | None = None,
    clock: Clock | None = None,
) -> None:
    """Put rules in front of an application, and have the limits of its routes go by them.

    `rules` are a file, a `Rules` value, or an `AsyncGatekeeper` that others use as well; without
    them only the limits of routes count. `user` and `plan` are functions of the scope that say who
    a request is from and what they have booked; one whose only parameter is called `request`, or
    is said to be a `Request` or `HTTPConnection`, is given such a one. Neither is awaited: what
    takes time is found out in a middleware. Sub-applications that are mounted go by the same, if
    they are not configured themselves. The gatekeeper is `app.state.headgate.keeper`.
    """
    if hasattr(app.state, "headgate"):
        raise ValueError(f'configure: "{app.title}" is configured already, or in use')
    finders = knowing("user", user), knowing("plan", plan)
    post = app.state.headgate = Post(Rules() if rules is None else rules, store, *finders, clock)
    app.add_exception_handler(RequestRefused, explain)
    app.add_middleware(Porch, post=post)
