"""Herald: what became of a request, told over HTTP. The same words in every framework."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Any

from headgate.adapters.http import problem
from headgate.adapters.http.dialects import Fields, Headers, Policy, Standing
from headgate.adapters.http.speaker import Speaker
from headgate.algorithms.limit import Limit
from headgate.decision import Decision
from headgate.rules.live.entry import Entry, Pass, Refusal
from headgate.rules.live.larder import Provision
from headgate.rules.live.ruling import Lane, Ruling
from headgate.rules.matching.facts import Fact, template
from headgate.rules.model.over import Degrade, Redirect, Reject

Answer = tuple[int, Fields, bytes]
Paces = dict[str, tuple[Policy, float]]

# What a refusal of the rules is called in a problem.
KINDS = {
    "limit": "quota",
    "capacity": "capacity",
    "denied": "denied",
    "key": "denied",
    "unavailable": "unavailable",
}
# Answers with these have no body, and nothing to say of one.
BODILESS = (204, 304)
# Those who were refused together are told to come back over so much longer a time.
JITTER = 0.1
# These get more by the moment; what is left of the others is all there is until they reset.
STEADY = ("TokenBucket", "GCRA", "LeakyBucket", "WarmUp")

# What every request has, and what it carries if its client will.
CERTAIN = ("method", "path", "scheme", "size", "client.ip")
CARRIED = {"header": "header", "query": "query parameter", "cookie": "cookie"}
NOBODY = "The request does not say who it is from."


class Told:
    """What is known of a lane before any request: its policies, each by name with its pace.

    The pace is how many seconds a unit takes, infinite where units come all at once. A `speaker` is
    the short way to the headers of a policy that is alone. `headers` are those it was worked out
    for, and `quiet` are rules that do not have any.
    """

    __slots__ = ("headers", "paces", "policies", "quiet", "speaker")

    def __init__(self, headers: Headers, policies: list[Policy], paces: Paces) -> None:
        self.headers = headers
        self.policies = policies
        self.paces = paces
        self.quiet = False
        self.speaker: Speaker | None = None


class Herald:
    """Tells of entries in the dialects that the rules name.

    `missed` is called with the refusal of every request without a key.
    """

    __slots__ = ("_clock", "_headers", "_luck", "_notices", "_silent", "missed")

    def __init__(
        self,
        dialects: tuple[str, ...],
        clock: Callable[[], int],
        luck: Callable[[], float] = random.random,
        missed: Callable[[Refusal], object] = bool,
    ) -> None:
        self._headers = spoken(tuple(dialects))
        self._silent = tuple(dialects) == ("none",)
        self._clock = clock
        self._luck = luck
        self.missed = missed
        self._notices: dict[tuple[str, int], problem.Notice] = {}

    def fields(self, entry: Entry) -> Fields:
        """The headers that tell how the limits stand which the request met."""
        passes = entry.passes
        if len(passes) == 1 and not entry.places:
            # Most requests meet one rule with one limit.
            one = passes[0]
            told: Told | None = one.lane.told
            if told is None or told.headers is not self._headers:
                told = describe(one, self._headers, self._clock)
            if told.quiet:
                return []
            if told.speaker is not None:
                return told.speaker.say(one.decision)
        return [] if self._silent else self._several(entry)

    def _several(self, entry: Entry) -> Fields:
        policies: list[Policy] = []
        standings: list[Standing] = []
        for one in entry.passes:
            if one.ruling.rule.headers:
                told = one.lane.told or describe(one, self._headers, self._clock)
                policies += told.policies
                standings.append(standing(told.paces, one.decision))
        for ruling, lane, key in entry.places:
            if ruling.rule.headers:
                terms = crowd(ruling, lane)
                policies.append(terms)
                standings += room(terms, lane, key)
        if not policies:
            return []
        return self._headers.render(policies, standings, self._clock() / 1e6)

    def answer(self, entry: Entry, accept: str = "") -> Answer:
        """The answer to a request that was refused."""
        refusal = entry.refusal
        if refusal is None:
            raise ValueError("the request was not refused")
        usual = refusal.kind == "limit" and type(refusal.rule.over) is Reject
        wait = refusal.retry_after
        if not usual or not 0.0 < wait < inf or problem.form(accept) is not problem.JSON:
            return self._other(entry, refusal, accept)
        notice = self._notices.get((refusal.policy, refusal.status))
        if notice is None:
            notice = self._notice(refusal.policy, refusal.status)
        status, headers, body = notice.answer(wait)
        return status, headers + self.fields(entry), body

    def _other(self, entry: Entry, refusal: Refusal, accept: str) -> Answer:
        rule, over = refusal.rule, refusal.rule.over
        if refusal.kind == "denied" and rule.deny.body:
            return ready(rule.deny.status, {}, rule.deny.body, [])
        if refusal.kind == "key":
            self.missed(refusal)
        fields = self.fields(entry)
        if refusal.kind not in ("denied", "key"):
            if isinstance(over, Redirect):
                place = (b"location", over.to.encode("ascii"))
                return over.status, [place, problem.UNSTORED, (b"content-length", b"0")], b""
            if entry.spare is not None:
                return again(entry.spare, fields)
            if isinstance(over, Degrade):
                return ready(over.status, over.headers, over.body, fields)
        status, headers, body = self._problem(refusal, accept)
        return status, headers + fields, body

    def _problem(self, refusal: Refusal, accept: str) -> Answer:
        kind = KINDS[refusal.kind]
        policy = refusal.policy or refusal.rule.name
        wait = refusal.retry_after
        said = problem.Refusal(
            refusal.status or problem.status(kind, wait),
            kind,
            () if kind == "denied" else (policy,),
            wait,
            detail(refusal, policy),
        )
        return said.answer(accept, JITTER if kind == "capacity" else 0.0, self._luck())

    def _notice(self, policy: str, status: int) -> problem.Notice:
        # There are as many as there are policies.
        found = problem.Notice(status or problem.status("quota"), policy)
        self._notices[policy, status] = found
        return found


@lru_cache(64)
def spoken(dialects: tuple[str, ...]) -> Headers:
    """The same for the same dialects, so that what one herald worked out serves the others."""
    return Headers(dialects)


def describe(one: Pass, headers: Headers, clock: Callable[[], int]) -> Told:
    """What is known of the lane of a pass, kept with it."""
    lane = one.lane
    policies = [policy(limit) for limit in lane.limits]
    paces = {}
    for limit, each in zip(lane.limits, policies, strict=True):
        steady = type(limit).__name__ in STEADY and limit.rate.count > 0
        paces[each.name] = (each, limit.rate.seconds / limit.rate.count if steady else inf)
    told = lane.told = Told(headers, policies, paces)
    if headers.dialects == ("none",) or not one.ruling.rule.headers:
        told.quiet = True
    elif len(policies) == 1:
        told.speaker = Speaker(*paces[policies[0].name], headers, clock)
    return told


def policy(limit: Limit) -> Policy:
    """A limit as a policy: what it holds, and how long it takes to hold as much again."""
    count = limit.rate.count
    window = limit.rate.seconds
    if type(limit).__name__ in STEADY and count > 0:
        window = window * limit.limit / count
    unit = "content-bytes" if limit.rate.in_bytes else "requests"
    return Policy(limit.name, limit.limit, min(window, 1e14), unit)


def standing(paces: Paces, decision: Decision) -> Standing:
    """How the tightest limit stands after a decision."""
    policy, pace = paces.get(decision.rule) or next(iter(paces.values()))
    left = decision.remaining
    if not decision.allowed:
        wait = decision.retry_after
        return Standing(policy, max(0, left), None if wait == inf else wait)
    if left > 0:
        return Standing(policy, left, decision.reset_after)
    # Nothing is left, but in the time that one unit takes there is one more.
    return Standing(policy, 0, min(decision.reset_after, pace))


def crowd(ruling: Ruling, lane: Lane) -> Policy:
    """How many at once, as a policy."""
    name = f"{ruling.name}:concurrent" if lane.limiter is not None else ruling.name
    return Policy(name, lane.most, 0.0, "concurrent-requests")


def room(policy: Policy, lane: Lane, key: str) -> list[Standing]:
    """How many places are left, where that is known here."""
    permits = getattr(lane.bulkhead, "permits", lane)
    if permits is not None and getattr(permits, "remote", True):
        return []
    return [Standing(policy, max(0, lane.most - lane.bulkhead.inside(key)), None)]


def ready(status: int, headers: Any, body: str, fields: Fields) -> Answer:
    """An answer kept ready."""
    content = body.encode("utf-8", "surrogatepass")
    said = [
        (name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()
    ]
    if status in BODILESS:
        return status, [*said, problem.UNSTORED, *fields], b""
    if not any(name == b"content-type" for name, _ in said):
        kind = b"application/json" if body[:1] in ("{", "[") else b"text/plain; charset=utf-8"
        said.append((b"content-type", kind))
    length = (b"content-length", b"%d" % len(content))
    return status, [*said, length, problem.UNSTORED, *fields], content


def again(provision: Provision, fields: Fields) -> Answer:
    """A good answer, given again."""
    said = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in provision.headers]
    length = (b"content-length", b"%d" % len(provision.body))
    return 200, [*said, length, problem.UNSTORED, *fields], provision.body


def detail(refusal: Refusal, policy: str) -> str:
    """One sentence for whoever reads the answer; no key is in it."""
    wait = refusal.retry_after
    if refusal.kind == "denied":
        return ""
    if refusal.kind == "key":
        return absent(refusal.rule.key)
    if refusal.kind == "unavailable":
        return "Nobody knows whether this is within the limit."
    if refusal.kind == "capacity":
        return f'"{policy}" has no room for it now.'
    if wait == inf:
        return f'Policy "{policy}" never allows as much at once.'
    return problem.exceeded(policy, problem.seconds(wait))


def absent(key: tuple[str, ...]) -> str:
    """What a request without a key has not got; only what clients carry themselves is named."""
    facts = [fact for fact in composed(key) if fact.name or fact.family not in CERTAIN]
    if not facts or any(fact.family not in CARRIED for fact in facts):
        return NOBODY
    named = [f"{CARRIED[fact.family]} {fact.name}" for fact in facts]
    return f"The request has no {' or no '.join(named)}."


@lru_cache(1000)
def composed(key: tuple[str, ...]) -> tuple[Fact, ...]:
    """The facts that a key is made of, each once."""
    pieces = [piece for part in key for piece in template(part)]
    return tuple(dict.fromkeys(piece for piece in pieces if isinstance(piece, Fact)))
