"""Decorator: a limit at one view, whether it is a function, a coroutine or a class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction

from headgate.adapters.annex import Terms
from headgate.adapters.django.desk import desk
from headgate.adapters.django.gate import passed
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper

V = TypeVar("V", bound=Callable[..., Any])


def limit(rate: Any = (), /, **fields: Any) -> Limit:
    """A limit at one view: `@limit("5/min", key="client.ip")`, with any field of a `Rule`.

    A class takes it as `@method_decorator(limit("5/min"), name="dispatch")`, or for one method. The
    rule is called after the view's name in the URLconf, unless it is given one.
    """
    return Limit(Terms(rate, fields))


class Limit:
    """A limit, to be put at a view."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def __call__(self, view: V) -> V:
        """The view, limited."""
        awaited = coloured(view)
        kind: Any = AsyncGatekeeper if awaited else Gatekeeper

        @functools.wraps(view)
        def limited(request: Any, *args: Any, **kwargs: Any) -> Any:
            if not hasattr(request, "META"):
                raise TypeError(
                    f"limit: {view.__qualname__} is a method; use @method_decorator(limit(...))"
                )
            found = desk(kind)
            name = found.annex.find(self._terms, placed(request, view))
            request.META["headgate.view"] = name
            call = functools.partial(view, *args, **kwargs) if args or kwargs else view
            return passed(found, found.annex.keeper, request, call)

        return markcoroutinefunction(limited) if awaited else limited  # type: ignore[return-value]


def coloured(view: Any) -> bool:
    """Whether a view is awaited: one of a class is if its class is."""
    bound = getattr(getattr(view, "func", None), "__self__", None)
    return bool(iscoroutinefunction(view) or getattr(bound, "view_is_async", False))


def placed(request: Any, view: Any) -> str:
    """What the place is called where a view is met."""
    match = getattr(request, "resolver_match", None)
    return str(view.__qualname__ if match is None else match.view_name)
