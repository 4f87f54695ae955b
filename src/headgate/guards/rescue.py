"""Rescue: something else to answer when a call goes wrong: a value, or what a function returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar

from headgate.wrapper import title

P = ParamSpec("P")
R = TypeVar("R")
Problems = type[Exception] | tuple[type[Exception], ...]


def rescued(
    function: Callable[P, R], fallback: Any, problems: tuple[type[Exception], ...]
) -> Callable[P, R]:
    """The function, with something else to answer when it raises one of the problems."""
    answer = substitute(function, fallback)
    if iscoroutinefunction(function):

        @wraps(function)
        async def arescued(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                return await function(*args, **kwargs)
            except problems as problem:
                found = answer(problem, args, kwargs)
                return await found if inspect.isawaitable(found) else found

        return arescued  # type: ignore[return-value]

    @wraps(function)
    def rescue(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except problems as problem:
            return answer(problem, args, kwargs)  # type: ignore[no-any-return]

    return rescue


def substitute(function: Callable[..., Any], fallback: Any) -> Callable[..., Any]:
    """What to answer instead, as a function of the problem and the arguments."""
    if not callable(fallback):
        return lambda problem, args, kwargs: fallback
    if iscoroutinefunction(fallback) and not iscoroutinefunction(function):
        raise TypeError(
            f"guard: the fallback {title(fallback)} is an async def, and {title(function)} is not"
        )
    place = placed(function)
    more = told(function, fallback)

    def answer(problem: Exception, args: Any, kwargs: Any) -> Any:
        args, kwargs = place(args, kwargs)
        return fallback(*args, **kwargs, **({"problem": problem} if more else {}))

    return answer


def placed(function: Callable[..., Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Arguments by place where they can be: the fallback may have other names for them."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return lambda args, kwargs: (args, kwargs)

    def place(args: Any, kwargs: Any) -> tuple[Any, Any]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            # The function itself has refused them; so may the fallback.
            return args, kwargs
        return bound.args, bound.kwargs

    return place


def told(function: Callable[..., Any], fallback: Callable[..., Any]) -> bool:
    """Whether the fallback is told the problem.

    One that does not take the function's arguments is refused here, and not in the emergency.
    """
    try:
        wanted, offered = inspect.signature(function), inspect.signature(fallback)
    except ValueError:
        # What is written in C may not say what it takes.
        return False
    more = {"problem": None} if "problem" in {*offered.parameters} - {*wanted.parameters} else {}
    for least in (False, True):
        args, words = arguments(wanted, least)
        try:
            offered.bind(*args, **words, **more)
        except TypeError as problem:
            raise TypeError(
                f"guard: the fallback {title(fallback)}{offered} does not take the arguments of "
                f"{title(function)}{wanted}: {problem}"
            ) from None
    return bool(more)


def arguments(signature: inspect.Signature, least: bool) -> tuple[list[None], dict[str, None]]:
    """A call with all arguments, or with as few as there may be."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    args: list[None] = []
    words: dict[str, None] = {}
    for name, parameter in signature.parameters.items():
        if least and parameter.default is not parameter.empty:
            continue
        if parameter.kind in plain:
            args.append(None)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            words[name] = None
    return args, words


def exceptions(value: Any) -> tuple[type[Exception], ...]:
    """The exceptions meant."""
    found = value if isinstance(value, tuple) else (value,)
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"guard: fallback_on is one or more kinds of Exception, not {kind!r}")
    return found
