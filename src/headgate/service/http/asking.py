"""Asking: one request at the service, as whoever answers it sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from headgate.adapters.arrivals import Manners
from headgate.decision import Decision
from headgate.service.http import forms
from headgate.service.http.basket import body
from headgate.service.http.saying import Answer, Trouble, retry
from headgate.wire.exchange import Exchange

# What a body is to be.
TYPE = "application/json"
# More parameters than these nobody has.
MOST = 16
# Stands for all rules, and is the name of none.
ALL = "*"
AUTHORIZATION = b"authorization"
CHALLENGE = b"www-authenticate"
REALM = b'Bearer realm="headgate"'


class Asking:
    """A request: `parts` are those of its path that differ, `caller` who it is from, if known."""

    __slots__ = ("caller", "clerk", "exchange", "hall", "parts", "query")

    def __init__(self, clerk: Any, exchange: Exchange, parts: list[str], query: bytes) -> None:
        self.clerk = clerk
        self.hall = clerk.hall
        self.exchange = exchange
        self.parts = parts
        self.query = query
        self.caller: Any = None

    @property
    def manners(self) -> Manners:
        """How requests are read and answered under the rules in force."""
        found: Manners = self.clerk.arrivals.manners
        return found

    def identify(self, header: bytes) -> None:
        """See who asks, by their token or by the port; Trouble where nobody may who is unknown."""
        self.caller = identify(self.hall, self.clerk.reception.caller, self.exchange, header)
        self.exchange.inlet.caller = self.caller

    def admit(self, *rules: str, cost: int = 1) -> None:
        """See that the caller may ask by these rules, and has not asked too much itself."""
        if self.caller is not None:
            admit(self.caller, rules, cost)

    def may(self, rule: str) -> bool:
        """Whether the caller may ask by a rule."""
        return self.caller is None or bool(self.caller.may(rule))

    def read(self, cls: type, said: Any = None) -> Any:
        """What the body says, as a form."""
        return forms.fill(cls, self.said() if said is None else said)

    def said(self) -> Any:
        """What the body says, in JSON."""
        kind = ", ".join(one.decode("latin-1") for one in self.exchange.header(b"content-type"))
        if kind.partition(";")[0].strip().lower() != TYPE:
            shown = f'"{kind[:100]}"' if kind else "nothing"
            raise Trouble(415, f"The content-type is {TYPE}, not {shown}.")
        return forms.parse(body(self.exchange))

    def options(self, *names: str) -> dict[str, str]:
        """The parameters of the query, which are some of these, and each said once."""
        if not self.query:
            return {}
        try:
            pairs = parse_qsl(self.query.decode("ascii"), True, True, max_num_fields=MOST)
        except ValueError:
            raise Trouble(400, "The query is malformed; it is such as ?deny=403.") from None
        found = dict(pairs)
        for name in found:
            if name not in names:
                known = f"there are {', '.join(names)}" if names else "there are none here"
                raise Trouble(400, f'There is no parameter "{name[:60]}"; {known}.')
        if len(found) < len(pairs):
            raise Trouble(400, "A parameter is said twice.")
        return found


def identify(hall: Any, usual: str, exchange: Exchange, header: bytes) -> Any:
    """Who asks: a caller, or None where that does not matter."""
    callers = hall.callers
    shown = exchange.header(header)
    if shown and header == AUTHORIZATION:
        scheme, _, token = shown[0].decode("latin-1").partition(" ")
        shown = [token.strip().encode("latin-1")] if scheme.lower() == "bearer" else []
    if shown:
        found = callers.known(shown[0].decode("latin-1"))
        if found is not None or not callers.needed:
            return found
        wrong = (CHALLENGE, REALM + b', error="invalid_token"')
        raise Trouble(401, "The token is not known here.", [wrong])
    if usual:
        return callers.named(usual)
    if callers.needed:
        said = "authorization: Bearer" if header == AUTHORIZATION else f"{header.decode()}:"
        raise Trouble(401, f"Say who you are, with {said} TOKEN.", [(CHALLENGE, REALM)])
    return None


def admit(caller: Any, rules: tuple[str, ...], cost: int) -> None:
    """See that a caller may ask by these rules, and has not asked too much."""
    for rule in rules:
        if not caller.may(rule):
            which = "all rules at once" if rule == ALL else f'the rule "{rule}"'
            raise Trouble(403, f'The caller "{caller.name}" may not ask by {which}.')
    decision = caller.take(cost)
    if not decision:
        wait = retry(decision.retry_after)
        raise Trouble(429, f'The caller "{caller.name}" asks too much of the service.', wait)


def then(found: Any, say: Callable[[Any], Answer]) -> Answer | Awaitable[Answer]:
    """What is said of an answer, now or when it is there."""
    if hasattr(found, "__await__") and not isinstance(found, Decision):
        return later(found, say)
    return say(found)


async def later(found: Awaitable[Any], say: Callable[[Any], Answer]) -> Answer:
    """What is said of an answer once it is there."""
    return say(await found)
