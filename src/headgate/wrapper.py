"""Wrapper: a function that something is done around whenever it is called, with a key of its own.

A key is a template over the arguments, such as `"user:{user_id}"`, or a function of them. What is
wrapped stays what it was: a `def` a `def`, an `async def` an `async def`.
"""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def wrap(
    function: Callable[P, R],
    key: str | Callable[..., str],
    enter: Callable[[str], object],
    aenter: Callable[[str], Awaitable[object]],
) -> Callable[P, R]:
    """`function`, entered through `enter` at each call with the key its arguments spell."""
    name = keyed(function, key)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def aguarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            await aenter(name(*args, **kwargs))
            return await function(*args, **kwargs)

        return aguarded  # type: ignore[return-value]

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        enter(name(*args, **kwargs))
        return function(*args, **kwargs)

    return guarded


def around(
    function: Callable[P, R], key: str | Callable[..., str], hold: Callable[[str], Any]
) -> Callable[P, R]:
    """`function`, made at each call within `hold(key)`, entered by `with` or `async with`."""
    name = keyed(function, key)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def aguarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            async with hold(name(*args, **kwargs)):
                return await function(*args, **kwargs)

        return aguarded  # type: ignore[return-value]

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        with hold(name(*args, **kwargs)):
            return function(*args, **kwargs)

    return guarded


def through(function: Callable[P, R], enter: Callable[[Any, Any], Any]) -> Callable[P, R]:
    """`function`, called if `enter` lets it, and what comes of it told to what `enter` answers.

    It is refused here and not further in: each compiled caller an exception passes through costs
    as much as the refusal itself.
    """
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def aguarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = enter(args, kwargs)
            if not call:
                raise call.refusal()
            try:
                result = call.judge(await function(*args, **kwargs))
            except BaseException as problem:
                call.raised(problem)
                raise
            call.end()
            return result

        return aguarded  # type: ignore[return-value]

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        call = enter(args, kwargs)
        if not call:
            raise call.refusal()
        try:
            result = call.judge(function(*args, **kwargs))
        except BaseException as problem:
            call.raised(problem)
            raise
        call.end()
        return result  # type: ignore[no-any-return]

    return guarded


def refuse(who: str, function: Callable[..., Any], advice: str = "") -> None:
    """Refuse a generator: it runs when it is looped over, long after it was called."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        place = f"{who}.guard" if who else "guard"
        raise TypeError(
            f"{place}: {title(function)} is a generator, and runs when it is looped over; "
            f"{advice or f'use `with {who.lower()}.hold()` in it'}"
        )


def keyed(function: Callable[..., Any], key: str | Callable[..., str]) -> Callable[..., str]:
    """How the arguments of `function` spell a key: a template over their names, or a function."""
    if not isinstance(key, str):
        return key
    fields = [field for _, field, _, _ in string.Formatter().parse(key) if field is not None]
    if not fields:
        plain = key.format()
        return lambda *args, **kwargs: plain
    signature = inspect.signature(function)
    for field in fields:
        word = field.partition(".")[0].partition("[")[0]
        if word not in signature.parameters:
            known = ", ".join(signature.parameters) or "none"
            raise ValueError(
                f"guard {key!r}: {title(function)} has no argument {word!r}; it has {known}"
            )

    def spelled(*args: Any, **kwargs: Any) -> str:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return key.format(**bound.arguments)

    return spelled


def title(function: Callable[..., Any]) -> str:
    """What to call a function in a message."""
    return str(getattr(function, "__qualname__", repr(function)))
