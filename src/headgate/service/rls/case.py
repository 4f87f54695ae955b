"""Case: a call made ready, and the flow that decides it: all of it may go in, or nothing is spent.

Unlike the reference, what is refused does not count: neither the descriptor that refuses a call nor
those beside it have spent anything. Each status still says how it stands with its descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from headgate.drive import Flow
from headgate.service.rls.finding import Finding
from headgate.service.rls.leaf import rest, said
from headgate.service.rls.messages import OK, OVER_LIMIT, Response
from headgate.service.rls.query import Ask, Query
from headgate.service.rls.scribe import LARGEST, MILLION, answer

LIMIT, REMAINING, RESET = "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"
RETRY = "Retry-After"


class Terms(NamedTuple):
    """What answers tell beside their statuses, and whether anybody is refused at all."""

    headers: bool = False
    metadata: bool = False
    shadow: bool = False


class Case(NamedTuple):
    """A call: what it asks, and the parts that decide. A `hatch` answers it at once."""

    query: Query
    parts: tuple[Any, ...]
    hatch: Any


def decide(case: Case, terms: Terms, now: int) -> Flow[bytes]:
    """The answer to a call, once every part has been asked."""
    findings: list[Finding] = []
    alone = len(case.parts) == 1
    try:
        for part in case.parts:
            finding = yield from part.weigh(alone, now)
            findings.append(finding)
    except BaseException:
        yield from undo(findings)
        raise
    over = refused(findings)
    barred = over and not terms.shadow
    if barred:
        yield from undo(findings)
    else:
        yield from give(findings, now)
    return worded(case.query, findings, over, barred, terms)


def refused(findings: Sequence[Finding]) -> bool:
    """Whether one descriptor refuses the call, or all of its quotas do."""
    quotas = [one.over for one in findings if one.quota]
    return any(one.over for one in findings if not one.quota) or (bool(quotas) and all(quotas))


def undo(findings: Sequence[Finding]) -> Flow[None]:
    """Give back what was taken, the latest first, so that it is as it was."""
    for finding in reversed(findings):
        for booking in reversed(finding.bookings):
            yield booking.cancel


def give(findings: Sequence[Finding], now: int) -> Flow[None]:
    """Give back what the call brings back, and tell how it stands then."""
    for finding in findings:
        tight: Any = None
        for back in finding.back:
            decision = yield back.refund
            if tight is None or decision.remaining < tight.remaining:
                tight = decision
                finding.limit = said(back.sayings, decision)
                finding.take(decision, rest(back.limits, now))


def worded(
    query: Query, findings: Sequence[Finding], over: bool, barred: bool, terms: Terms
) -> bytes:
    """The answer as it is sent."""
    code = OVER_LIMIT if barred else OK
    words = answer(code, b"".join(one.status(barred) for one in findings))
    if not (terms.headers or terms.metadata):
        return words
    # What follows on the wire is added to what was said.
    more = Response()
    if terms.headers:
        for key, value in headers(findings, over):
            more.response_headers_to_add.add(key=key, value=value)
    if terms.metadata:
        more.dynamic_metadata.update(metadata(query, findings))
    told: bytes = more.SerializeToString()
    return words + told


def headers(findings: Sequence[Finding], over: bool) -> list[tuple[str, str]]:
    """What the client is told of the tightest limit; of one that refuses, if there is one."""
    told = [one for one in findings if one.limit and one.count <= LARGEST]
    tight = [one for one in told if one.over and over and not one.quota] or told
    if not tight:
        return []
    one = min(tight, key=lambda one: one.left if over else one.remaining)
    seconds = str(-(-one.wait // MILLION))
    found = [(LIMIT, str(one.count)), (REMAINING, str(one.remaining)), (RESET, seconds)]
    return [*found, (RETRY, seconds)] if over and one.over else found


def metadata(query: Query, findings: Sequence[Finding]) -> dict[str, Any]:
    """What Envoy may write into its log: the call, and what files say of those that may go in."""
    found: dict[str, Any] = {
        "domain": legible(query.domain),
        "descriptors": [described(one) for one in query.asks],
    }
    if query.hits:
        found["hitsAddend"] = query.hits
    merged: dict[str, Any] = {}
    for finding in findings:
        if not finding.over and finding.metadata:
            merge(merged, finding.metadata)
    return {**found, "metadata": merged} if merged else found


def described(ask: Ask) -> dict[str, Any]:
    """One descriptor."""
    found: dict[str, Any] = {"entries": [legible(f"{key}={value}") for key, value in ask.entries]}
    if ask.override is not None:
        found["limit"] = "requests_per_unit:{} unit:{}".format(*ask.override)
    return {**found, "hitsAddend": ask.hits} if ask.priced else found


def merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add what is not there; mappings of one name become one."""
    for name, value in more.items():
        there = into.get(name)
        if isinstance(there, dict) and isinstance(value, Mapping):
            merge(there, value)
        elif name not in into:
            # What a file says is not to change.
            into[name] = deepcopy(value)


def legible(said: str) -> str:
    """A text that can be written, whatever bytes it came from."""
    return said.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
