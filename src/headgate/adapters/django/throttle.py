"""Throttle: limits for the views of Django REST framework.

    class Upload(APIView):
        throttle_classes = [HeadgateThrottle]
        throttle_rules = {"limit": "5/min", "key": "user"}

A view says `throttle_rules`, which is a rate, the fields of a rule, or a list of these; or
`throttle_scope`, the name of such in `HEADGATE["SCOPES"]`. Who is signed in is known by then, in
whatever way they did it. A throttle only counts what comes in: for what takes an answer to know,
such as `concurrent` or `counts`, there are the rules of the middleware, and `limit`.
"""

from __future__ import annotations

from math import inf
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from headgate.adapters.annex import Terms
from headgate.adapters.django.desk import Desk, Visitor, desk, said
from headgate.adapters.django.gate import UNTOLD
from headgate.adapters.http.herald import detail
from headgate.adapters.stay import lines, together
from headgate.errors import MissingExtra
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.over import Degrade, Redirect
from headgate.rules.model.rule import Rule

try:
    from rest_framework.exceptions import APIException
    from rest_framework.throttling import BaseThrottle
except ImportError:
    raise MissingExtra("drf") from None

# What a throttle cannot do, for it does not hear of the answer.
LATER = ("counts", "concurrent", "bandwidth", "adaptive", "breaker")
COUNTED = "headgate.counted"


class HeadgateThrottle(BaseThrottle):  # type: ignore[misc]
    """Counts requests as the view says. Its headers are those of all adapters."""

    def __init__(self) -> None:
        self._wait: float | None = None

    def allow_request(self, request: Any, view: Any) -> bool:
        """Whether the request may go in; if not, REST framework raises `Throttled`.

        Where another status than 429 is due, as for a request without a key, it is raised here.
        """
        found = desk(Gatekeeper)
        visitor = Visitor(request, found.reception.manners)
        for name in names(found, view):
            request.META["headgate.view"] = name
            entry = found.annex.keeper.enter(visitor)
            tell(visitor, view, entry)
            if entry.refusal is not None:
                self._refuse(visitor, entry)
                return False
        return True

    def wait(self) -> float | None:
        """In how many seconds to come back; None where that is not known, or never."""
        return self._wait

    def _refuse(self, visitor: Visitor, entry: Entry) -> None:
        refusal: Any = entry.refusal
        self._wait = refusal.retry_after if 0.0 < refusal.retry_after < inf else None
        status = visitor.manners.herald.answer(entry)[0]
        if status != 429:
            raise RequestRefused(status, detail(refusal, entry.rule), self._wait)


class RequestRefused(APIException):  # type: ignore[misc]
    """A refusal that is not about how much was asked for."""

    def __init__(self, status: int, sentence: str, wait: float | None) -> None:
        super().__init__(sentence or "The request is denied.", "refused")
        self.status_code = status
        self.wait = wait and max(1.0, wait)


def names(found: Desk[Gatekeeper], view: Any) -> list[str]:
    """The names of the rules that a view says."""
    kind = type(view)
    scope = getattr(view, "throttle_scope", None)
    rules = getattr(view, "throttle_rules", ())
    place = f"{kind.__module__}.{kind.__qualname__}" if rules else str(scope)
    known = found.noted.get(place)
    if known is None:
        listed = rules or (scoped(scope) if scope else ())
        several = listed if isinstance(listed, (list, tuple)) else [listed]
        known = found.noted[place] = [termed(one, place) for one in several]
    return [found.annex.find(terms, place) for terms in known]


def scoped(scope: str) -> Any:
    """What the settings say of a scope."""
    scopes = said().get("SCOPES", {})
    if scope not in scopes:
        raise ImproperlyConfigured(f'HeadgateThrottle: HEADGATE["SCOPES"] has no "{scope}"')
    return scopes[scope]


def termed(given: Any, place: str) -> Terms:
    """The terms of one rule, if a throttle can keep them."""
    terms = Terms((), given) if isinstance(given, dict) else Terms(given, {})
    rule: Rule = terms.rule
    beyond = [word for word in LATER if getattr(rule, word)]
    beyond += ["cost"] if any(cost.later for cost in rule.cost) else []
    beyond += ["over"] if isinstance(rule.over, (Degrade, Redirect)) else []
    if beyond:
        raise ImproperlyConfigured(
            f"HeadgateThrottle: {place}: a throttle has no {beyond[0]}, for it does not answer; "
            "use limit, or a rule of the middleware"
        )
    return terms


def tell(visitor: Visitor, view: Any, entry: Entry) -> None:
    """Have headers tell of the entry: by whoever does so further out, or else by the view."""
    meta: Any = visitor.environ
    if UNTOLD in meta:
        meta[UNTOLD].append(entry)
        return
    counted = meta.setdefault(COUNTED, [])
    counted.append(entry)
    view.headers.update(lines(visitor.manners.herald.fields(together(counted))))
