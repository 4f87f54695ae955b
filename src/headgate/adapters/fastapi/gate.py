"""Gates: what FastAPI asks before a route, as a dependency or as one more parameter.

A gate is called in two ways: by FastAPI, with a request, and by whoever puts it above a function.
So calling it is a plain function. But FastAPI asks an object for its `__call__` and its signature
to know how to call it, and these are those of `ask`, which has to be awaited.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Response
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from headgate.adapters.annex import Terms
from headgate.adapters.fastapi.post import POST, REPLY, stationed
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.shelf import sound

F = TypeVar("F", bound=Callable[..., Any])

# What a rule can only do if it sees the answer.
WATCHFUL = ("bandwidth", "counts", "breaker")


def called(gate: Any, connection: Any, response: Response | None = None) -> Any:
    """What FastAPI awaits; or, called with a function, that function behind the gate."""
    if response is None:
        return guarded(connection, gate)
    # Raises in a thread, where nobody would await it: an error is better than no limit.
    asyncio.get_running_loop()
    return gate.ask(connection, response)


class Gate:
    """A limit that FastAPI asks before a route."""

    def __init__(self, terms: Terms, store: str) -> None:
        self.terms = terms
        self.store = sound(store) if store else ""
        rule = terms.rule
        needs = [word for word in WATCHFUL if getattr(rule, word)]
        self._needs = needs + ["cost"] * any(cost.later for cost in rule.cost)
        dress(self)

    __call__ = called

    async def ask(self, connection: HTTPConnection, response: Response) -> Entry:
        """The entry of one request; raises `RequestRefused`."""
        _, entry = await self.enter(connection, response)
        return entry

    async def enter(
        self, connection: HTTPConnection, response: Response
    ) -> tuple[AsyncGatekeeper, Entry]:
        """Ask; whoever sees the answer is told of the entry, or else the answer itself is."""
        scope = connection.scope
        post = scope.get(POST) or stationed(connection.app)
        reply = scope.get(REPLY)
        if reply is None and self._needs:
            raise RuntimeError(
                f"limit: {self._needs[0]} is about the answer, which a dependency does not see; "
                "call configure(app)"
            )
        keeper, entry = await post.ask(self.terms, self.store, scope, reply)
        if reply is None:
            response.headers.raw.extend(post.reception.manners.herald.fields(entry))
        else:
            reply.add(keeper, entry)
        return keeper, entry


class Room:
    """A limit that FastAPI asks before a route, and tells when it is answered: it holds places.

    Apart from `Gate`, for FastAPI takes three times as long over dependencies that it has to end.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        dress(self)

    __call__ = called

    async def ask(self, connection: HTTPConnection, response: Response) -> AsyncIterator[Entry]:
        """The entry of one request; raises `RequestRefused`."""
        keeper, entry = await self._gate.enter(connection, response)
        if REPLY in connection.scope:
            yield entry
            return
        status = 0
        try:
            yield entry
            status = 200
        except HTTPException as problem:
            status = problem.status_code
            raise
        finally:
            await keeper.leave(entry, status)


def dress(gate: Gate | Room) -> None:
    """Have a gate look to FastAPI as its `ask` does."""
    vars(gate)["__call__"] = gate.ask
    vars(gate)["__signature__"] = inspect.signature(gate.ask, eval_str=True)


def guarded(function: F, gate: Gate | Room) -> F:
    """The function with one more parameter, which FastAPI fills in by asking the gate."""
    if not callable(function):
        raise TypeError(
            f"limit: write Depends(limit(...)), or put it above a function, not {function!r}"
        )
    signature = inspect.signature(function)
    name = "headgate"
    while name in signature.parameters:
        name += "_"

    @functools.wraps(function)
    def opened(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return function(*args, **kwargs)

    @functools.wraps(function)
    async def aopened(*args: Any, **kwargs: Any) -> Any:
        return await opened(*args, **kwargs)

    found: Any = aopened if inspect.iscoroutinefunction(function) else opened
    asking = Annotated[Entry, Depends(gate)]
    extra = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=asking)
    parameters = sorted([*signature.parameters.values(), extra], key=lambda one: one.kind)
    found.__signature__ = signature.replace(parameters=parameters)
    return found  # type: ignore[no-any-return]
