"""Arrivals: requests as the heirs of CGI have them, which are WSGI, Flask and Django.

Headers stand in one mapping as `HTTP_X_USER`, several lines of one name joined by commas. A hyphen
and an underscore are the same there, so whoever may send `X_Forwarded_For` past a proxy sends its
`X-Forwarded-For`. Servers that people use in earnest drop such headers, among them gunicorn,
waitress, Werkzeug's and Django's own; that of `wsgiref` does not. Nothing here can tell them apart.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from headgate.adapters.http.herald import Herald, composed
from headgate.rules.clients.client import Client, Found
from headgate.rules.live.entry import Refusal
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.request import Request, hostname
from headgate.rules.model.rules import Rules

Environ = Mapping[str, Any]
Finder = Callable[[Any], object]
F = TypeVar("F", bound=Callable[..., object])

logger = logging.getLogger("headgate")

# The name under which rules of a view ask for it; no client can send what stands there.
VIEW = "headgate-view"
VARIABLES = {
    "content-type": "CONTENT_TYPE",
    "content-length": "CONTENT_LENGTH",
    VIEW: "headgate.view",
}


class Manners(NamedTuple):
    """How requests are read and answered under one set of rules."""

    rules: Rules
    herald: Herald
    client: Client
    user: Finder
    plan: Finder


class Reception:
    """Reads requests and answers them as the rules of a gatekeeper will have it.

    `user` and `plan` are functions that say who a request is from and what they have booked. They
    are not awaited.
    """

    __slots__ = ("_manners", "_missed", "_plan", "_user", "keeper")

    def __init__(self, keeper: Gatekeeper | AsyncGatekeeper, user: Finder, plan: Finder) -> None:
        self.keeper = keeper
        self._user = plain("user", user)
        self._plan = plain("plan", plan)
        # The rules that somebody without a key has met.
        self._missed: set[str] = set()
        self._manners = self._learn()

    @property
    def manners(self) -> Manners:
        """Those of the rules in force. All change at once, so that no thread sees half of them."""
        manners = self._manners
        if manners.rules is not self.keeper.lodge.book.rules:
            manners = self._manners = self._learn()
        return manners

    def miss(self, refusal: Refusal) -> None:
        """Take note of a request without a key; log once if a rule counts by users it never saw."""
        rule = refusal.rule
        if rule.name in self._missed:
            return
        self._missed.add(rule.name)
        tally = self.keeper.tallies().get(rule.name)
        if Fact("user") in composed(rule.key) and (tally is None or not tally.passed):
            logger.warning(
                'rule "%s" counts by user, and no request so far had one; say who requests are '
                'from with user=, or HEADGATE["USER"] in Django',
                rule.name,
            )

    def _learn(self) -> Manners:
        rules = self.keeper.rules
        herald = Herald(rules.headers, self.keeper.lodge.clock.now, missed=self.miss)
        return Manners(rules, herald, rules.client, self._user, self._plan)


class Guest(Request):
    """A request that a server has taken in; who it is from is found out if a rule asks.

    `source` is what the functions that know the user and the plan are given. Each kind says in
    `_peer` who has connected, and in `_locate` who the client is.
    """

    __slots__ = ("manners", "source")

    manners: Manners
    source: Any

    @property
    def user(self) -> str:
        """Who it is, as the application knows them; it is asked once."""
        try:
            return self._user  # type: ignore[return-value]
        except AttributeError:
            self._user = text(self.manners.user(self.source), "user")
            return self._user

    @property
    def plan(self) -> str:
        """What they have booked, as the application knows it or the rules say; it is asked once."""
        try:
            found = self._plan
        except AttributeError:
            found = self._plan = text(self.manners.plan(self.source), "plan")
        return found if isinstance(found, str) else self._find("_plan", found)

    @property
    def vouched(self) -> bool:
        """Whether headers were written by a proxy that is believed."""
        return self.manners.client.meet(self._peer())[1]

    @property
    def host(self) -> str:
        """The host that is asked for, in lower case and without its port."""
        return hostname(self.header("host"))

    @property
    def client(self) -> str:
        """The key of the client's address."""
        return self._locate().key

    @property
    def address(self) -> str:
        """The client's whole address."""
        return self._locate().address

    def _peer(self) -> str | None:
        raise NotImplementedError

    def _locate(self) -> Found:
        raise NotImplementedError


class Arrival(Guest):
    """A request as an environ has it; what no rule asks for is not looked at."""

    __slots__ = ("environ",)

    def __init__(self, environ: Environ, manners: Manners, source: Any) -> None:
        self.environ = environ
        self.source = source
        self.manners = manners
        # Frameworks answer to `get` as to `GET`.
        self.method = environ["REQUEST_METHOD"].upper()
        self.path = pathname(environ)

    @property
    def _query(self) -> str:  # type: ignore[override]
        found: str = self.environ.get("QUERY_STRING", "")
        return found

    def header(self, name: str) -> str:
        """The header of this name."""
        found: str = self.environ.get(variable(name), "")
        return found

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme, such as https."""
        return str(self.environ.get("wsgi.url_scheme", "http"))

    @property
    def client(self) -> str:
        """The key of the client's address."""
        # Of the few things that nearly every request is asked for, the one that takes longest.
        found, trusted = self.manners.client.meet(self.environ.get("REMOTE_ADDR"))
        return self._locate().key if trusted else found.key

    def _peer(self) -> str | None:
        peer: str | None = self.environ.get("REMOTE_ADDR")
        return peer

    def _locate(self) -> Found:
        client = self.manners.client
        found, trusted = client.meet(self.environ.get("REMOTE_ADDR"))
        if not trusted:
            return found
        line = self.environ.get(variable(client.header))
        return client.follow(found, () if line is None else (line,))


@lru_cache(1000)
def variable(name: str) -> str:
    """Where a header stands."""
    return VARIABLES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"


def pathname(environ: Environ) -> str:
    """The whole path, decoded: an environ has bytes in it that look like Latin-1."""
    path: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "") or "/"
    return path if path.isascii() else path.encode("latin-1", "replace").decode("utf-8", "replace")


def text(found: object, word: str) -> str:
    """The user or plan that a function has found, as a text: None is nothing."""
    if found is None or isinstance(found, (str, int)):
        return "" if found is None else str(found)
    if not hasattr(found, "__await__"):
        return str(found)
    if inspect.iscoroutine(found):
        # Or Python would warn that it is never awaited.
        found.close()
    raise TypeError(
        f"{word}: the function gave a {type(found).__name__}, which nobody awaits here; give a "
        f"function that returns the {word} itself"
    )


def plain(word: str, find: F) -> F:
    """A function to ask for the user or plan, if it gives an answer at once."""
    if not callable(find):
        raise TypeError(f"{word} is a function that says the {word} of a request, not {find!r}")
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    if any(kind(find) or kind(find.__call__) for kind in kinds):  # type: ignore[operator]
        name = getattr(find, "__name__", type(find).__name__)
        raise TypeError(
            f'{word}: "{name}" is an async function, and nobody awaits it here; make it a plain '
            "def, and have what takes time found out before rules are asked"
        )
    return find
