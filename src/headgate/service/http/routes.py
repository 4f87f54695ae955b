"""Routes: what can be asked for, where, and who answers. The OpenAPI document is made of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from headgate.service.http.saying import Answer, Trouble

Respond = Callable[[Any], Answer | Awaitable[Answer]]


class Example(NamedTuple):
    """A request that can be played, and its answer: the body of each, where it has one."""

    name: str
    says: str
    asked: Any = None
    status: int = 200
    told: Any = None
    path: str = ""


class Route(NamedTuple):
    """What is answered at a path to a method.

    `forms` are what a body may be, `told` are the statuses and what they mean, `query` the
    parameters with what they mean. Nobody has to show a token where it is `open`; elsewhere it
    stands in `header`. Those of the statuses that are `plain` come with words that are no JSON.
    """

    method: str
    path: str
    answer: Respond
    says: str
    told: dict[int, str]
    forms: tuple[type, ...] = ()
    query: Mapping[str, str] = MappingProxyType({})
    examples: tuple[Example, ...] = ()
    open: bool = False
    header: bytes = b"authorization"
    # The schema of what is answered if all is well.
    schema: str = ""
    plain: tuple[int, ...] = ()


class Routes:
    """Finds who answers a request."""

    def __init__(self, *routes: Route) -> None:
        self.routes = routes
        self._exact: dict[bytes, dict[str, Route]] = {}
        # By the words that do not differ, and how many there are after them.
        self._open: list[tuple[list[bytes], int, Route]] = []
        for route in routes:
            words = route.path.encode("ascii").split(b"/")
            fixed = [word for word in words if not word.startswith(b"{")]
            if len(fixed) == len(words):
                self._exact.setdefault(route.path.encode("ascii"), {})[route.method] = route
            else:
                rest = -1 if route.path.endswith("...}") else len(words) - len(fixed)
                self._open.append((fixed, rest, route))

    def find(self, method: str, path: bytes) -> tuple[Route, list[str]]:
        """Who answers, and the parts of the path that differ; Trouble if there is nobody."""
        found = self._exact.get(path)
        parts: list[str] = []
        if found is None:
            found, parts = self._search(path)
        if not found:
            raise Trouble(404, "There is nothing here; GET /openapi.json tells what there is.")
        route = found.get(method) or found.get("*")
        if route is None and method == "HEAD":
            route = found.get("GET")
        if route is None:
            known = sorted(found) + (["HEAD"] if "GET" in found else [])
            allow = (b"allow", ", ".join(known).encode("ascii"))
            raise Trouble(405, f"Ask with {' or '.join(known)} here.", [allow])
        return route, parts

    def _search(self, path: bytes) -> tuple[dict[str, Route], list[str]]:
        words = path.split(b"/")
        found: dict[str, Route] = {}
        parts: list[str] = []
        for fixed, rest, route in self._open:
            if words[: len(fixed)] != fixed or (rest >= 0 and len(words) != len(fixed) + rest):
                continue
            if len(words) > len(fixed):
                found[route.method] = route
                parts = [decoded(word) for word in words[len(fixed) :]]
        return found, parts


def decoded(word: bytes) -> str:
    """A part of a path as it was meant; Trouble if it is no text."""
    try:
        return unquote_to_bytes(word).decode("utf-8")
    except UnicodeDecodeError:
        raise Trouble(400, "The path is no UTF-8 behind its percent signs.") from None
