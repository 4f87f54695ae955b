"""Who a request is from, as functions say that are asked for the user and the plan."""

from __future__ import annotations

import asyncio
import functools
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fastapi import FastAPI
from flask import Flask

from headgate.adapters.arrivals import text
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.fastapi import configure
from headgate.adapters.flask import Headgate
from headgate.adapters.grpc import AsyncHeadgateInterceptor, HeadgateInterceptor
from headgate.adapters.wsgi import HeadgateMiddleware as WsgiMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import call
from tests.adapters.wire import called, environment

RULES = Rules([Rule("api", key="user", limit="1/min")], plans={"paid": {"api": "2/min"}})

MAKERS: dict[str, Callable[..., Any]] = {
    "asgi": lambda **said: HeadgateMiddleware(nothing, RULES, **said),
    "wsgi": lambda **said: WsgiMiddleware(nothing, RULES, **said),
    "fastapi": lambda **said: configure(FastAPI(), RULES, **said),
    "flask": lambda **said: Headgate(Flask("shop"), RULES, **said),
    "flask later": lambda **said: Headgate(rules=RULES, **said),
    "grpc": lambda **said: HeadgateInterceptor(RULES, **said),
    "grpc.aio": lambda **said: AsyncHeadgateInterceptor(RULES, **said),
}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
WORDS = pytest.mark.parametrize("word", ["user", "plan"])


def nothing(*_: Any) -> Any:
    """An application that nobody asks."""


async def who(*_: Any) -> str:
    return "somebody"


async def several(*_: Any) -> AsyncIterator[str]:
    yield "somebody"


class Known:
    """A function that is an object."""

    async def __call__(self, *_: Any) -> str:
        return "somebody"


@EACH
@WORDS
@pytest.mark.parametrize(
    ("find", "name"),
    [(who, "who"), (several, "several"), (Known(), "Known"), (functools.partial(who), "partial")],
)
def test_a_function_that_nobody_would_await_is_refused_at_once(
    make: Callable[..., Any], word: str, find: Any, name: str
) -> None:
    with pytest.raises(TypeError) as caught:
        make(**{word: find})

    assert str(caught.value) == (
        f'{word}: "{name}" is an async function, and nobody awaits it here; make it a plain def, '
        "and have what takes time found out before rules are asked"
    )


@EACH
@WORDS
def test_a_name_is_no_function(make: Callable[..., Any], word: str) -> None:
    with pytest.raises(TypeError) as caught:
        make(**{word: "header.x-user"})

    assert str(caught.value) == (
        f"{word} is a function that says the {word} of a request, not 'header.x-user'"
    )


@pytest.mark.parametrize(
    ("said", "word"),
    [({"user": lambda _: who()}, "user"), ({"user": lambda _: 7, "plan": lambda _: who()}, "plan")],
)
def test_a_coroutine_is_nobody(said: dict[str, Any], word: str) -> None:
    sentence = (
        f"{word}: the function gave a coroutine, which nobody awaits here; give a function that "
        f"returns the {word} itself"
    )
    with pytest.raises(TypeError) as caught:
        call(MAKERS["asgi"](**said))
    assert str(caught.value) == sentence
    with pytest.raises(TypeError) as caught:
        called(MAKERS["wsgi"](**said), environment("GET", "/", {}))
    assert str(caught.value) == sentence


def test_a_future_is_nobody() -> None:
    async def ask() -> str:
        return text(asyncio.get_running_loop().create_future(), "user")

    with pytest.raises(TypeError) as caught:
        asyncio.run(ask())

    assert str(caught.value) == (
        "user: the function gave a Future, which nobody awaits here; give a function that returns "
        "the user itself"
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, ""), ("", ""), ("a", "a"), (7, "7"), (0, "0"), (2.5, "2.5"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)  # fmt: skip
def test_everything_else_is_what_it_says(found: object, said: str) -> None:
    assert text(found, "user") == said
