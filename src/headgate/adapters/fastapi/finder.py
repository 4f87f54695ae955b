"""Finders: functions that say who a request is from, given what they expect to be given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from starlette.requests import HTTPConnection, Request

from headgate.adapters.arrivals import plain
from headgate.adapters.asgi import Finder
from headgate.adapters.reply import Scope

# As an annotation says it that is a text, and cannot be looked up.
SAID = ("Request", "HTTPConnection")


def knowing(word: str, find: Callable[[Any], object] | None) -> Finder | None:
    """A function of the scope, for one of the scope or of the request."""
    if find is None or not expectant(plain(word, find)):
        return find

    def found(scope: Scope) -> object:
        # A handshake is no request, but has all that is known of one before its body.
        return find(Request(scope) if scope["type"] == "http" else HTTPConnection(scope))

    return found


def expectant(find: Callable[..., object]) -> bool:
    """Whether a function expects a request: its only parameter is called so, or said to be one."""
    try:
        (parameter,) = parameters(find)
    except (TypeError, ValueError):
        # There are more of them, or nobody knows.
        return False
    said = parameter.annotation
    if said is parameter.empty:
        return parameter.name == "request"
    if isinstance(said, str):
        return said.rpartition(".")[2] in SAID
    return isinstance(said, type) and issubclass(said, HTTPConnection)


def parameters(find: Callable[..., object]) -> list[inspect.Parameter]:
    """What a function has to be given, with annotations looked up if that can be done."""
    try:
        signature = inspect.signature(find, eval_str=True)
    except (NameError, AttributeError, SyntaxError):
        # What is imported for type checkers alone is not there.
        signature = inspect.signature(find)
    return [one for one in signature.parameters.values() if one.default is one.empty]
