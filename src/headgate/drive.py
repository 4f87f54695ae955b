"""Driving flows: what is told once as a generator of effects, done in either colour.

A flow yields what it wants done and is sent the answer. It neither blocks nor awaits, so one flow
serves threads and tasks alike: `drive` runs it here and now, `adrive` in an event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

R = TypeVar("R")
Flow = Generator[Any, Any, R]


def drive(flow: Flow[R], perform: Callable[[Any], Any]) -> R:
    """Run `flow` to its end, carrying out each effect with `perform`."""
    try:
        effect = next(flow)
        while True:
            try:
                answer = perform(effect)
            except BaseException as problem:
                effect = flow.throw(problem)
            else:
                effect = flow.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def adrive(flow: Flow[R], perform: Callable[[Any], Awaitable[Any]]) -> R:
    """Run `flow` to its end, awaiting each effect of `perform`."""
    try:
        effect = next(flow)
        while True:
            try:
                answer = await perform(effect)
            except BaseException as problem:
                effect = flow.throw(problem)
            else:
                effect = flow.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
