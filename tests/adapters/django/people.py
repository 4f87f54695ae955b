"""Middleware that knows who is signed in, as Django's own does: by looking when it is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.utils.asyncio import async_unsafe
from django.utils.decorators import sync_and_async_middleware
from django.utils.functional import SimpleLazyObject

# Who was looked up, and in which way.
ASKED: list[str] = []


@async_unsafe
def look(request: Any) -> Any:
    """As a database has it, which no event loop may be held up by."""
    ASKED.append("sync")
    return person(request)


async def alook(request: Any) -> Any:
    """The same, awaited."""
    ASKED.append("async")
    return person(request)


def person(request: Any) -> Any:
    name = request.headers.get("x-person")
    return SimpleNamespace(pk=name, is_authenticated=name is not None)


@sync_and_async_middleware
def authentication(get_response: Any) -> Any:
    """Puts `user` and `auser` at the request."""

    def prepare(request: Any) -> None:
        request.user = SimpleLazyObject(lambda: look(request))
        request.auser = lambda: alook(request)

    if iscoroutinefunction(get_response):

        async def amiddleware(request: Any) -> Any:
            prepare(request)
            return await get_response(request)

        return amiddleware

    def middleware(request: Any) -> Any:
        prepare(request)
        return get_response(request)

    return middleware


def sync_only(get_response: Any) -> Any:
    """One that knows nothing of event loops."""

    def middleware(request: Any) -> Any:
        return get_response(request)

    return middleware


def plain(request: Any) -> Any:
    """Who it is, by a header; looked up where that is allowed."""
    look(request)
    return request.headers.get("x-person")


async def awaited(request: Any) -> Any:
    """The same, awaited."""
    return request.headers.get("x-person")


def plan(request: Any) -> Any:
    """What they have booked, by a header."""
    return request.headers.get("x-plan")
