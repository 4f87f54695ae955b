"""Trial: your own rules, tried in virtual time. What the pytest fixture `headgate_rules` gives.

    def test_five_logins_a_minute(headgate_rules):
        trial = headgate_rules("rules.yaml")
        trial.assert_admits(5, "POST /login", client="203.0.113.7")
        trial.advance(60)
        trial.assert_admits(5, "POST /login", client="203.0.113.7")

Nothing is sent anywhere and nobody waits: the clock is moved by hand, what is counted is kept in
memory, and rules decide as they do in front of an app.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

from headgate.clock import ManualClock
from headgate.rules.clients.address import cluster, parse, spell
from headgate.rules.clients.client import LOCAL, Client
from headgate.rules.live.entry import Entry, Pass, Refusal
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.live.ruleset import Ruleset
from headgate.rules.live.ruling import Ruling
from headgate.rules.matching.facts import WORDS, Fact, template
from headgate.rules.matching.request import Request
from headgate.rules.model.kinds import closest
from headgate.rules.model.rule import Rule

# pytest then shows the line of the test that failed, and nothing of this module.
__tracebackhide__ = True

# More than this is taken to be without end.
MOST = 10_000
# What a refusal can be; the first three are what a rule itself says.
KINDS = ("limit", "capacity", "denied", "key", "unavailable")
TERMS = KINDS[:3]
# What is said of a request beside its line, and in its line.
FACTS = ("client", "user", "plan", "headers", "host", "scheme", "address")
LINE = ("method", "path", "query")
OPTIONS = ("status", "within", "kind")


class Trial:
    """Rules and a clock to try them with."""

    def __init__(self, rules: Source) -> None:
        self.clock = ManualClock()
        self.keeper = Gatekeeper(rules, "memory://", self.clock)
        # Whoever switches limits off in the tests of an app still tests its rules.
        self.keeper.enabled = True
        # Who is inside stays there, whether anybody looks at the entry or not.
        self._inside: dict[int, Entry] = {}

    def send(self, line: str, status: int = 200, **facts: Any) -> Entry:
        """Send `"POST /login?next=/home"` and have it answered with `status`; what became of it.

        Facts are those of `Request`: `client`, `user`, `plan`, `host`, `headers` ... The client is
        an address, which the rules group as they do in front of an app.
        """
        return self._send(line, status, facts).entry

    def hold(self, line: str, **facts: Any) -> Entry:
        """`send` without an answer: whoever is let in stays inside until `leave`."""
        entry = self._enter(line, facts).entry
        self._inside[id(entry)] = entry
        return entry

    def leave(self, entry: Entry, status: int = 200) -> None:
        """Answer a request that was held."""
        self._inside.pop(id(entry), None)
        self.keeper.leave(entry, status)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def admitted(self, line: str, within: float = 0.0, status: int = 200, **facts: Any) -> int:
        """How many get in that come as soon as they may for `within` seconds, which then are over.

        Whoever is refused comes back at the moment it was told to.
        """
        return self._rush(line, within, status, facts)[0]

    def assert_admits(
        self, units: float, line: str, within: float = 0.0, status: int = 200, **facts: Any
    ) -> None:
        """Fail unless exactly so many get in; `inf` if there is to be no end of them."""
        found, last = self._rush(line, within, status, facts)
        if found != units and not (units == inf and found >= MOST):
            span = f" within {plain(within)} s" if within else " at once"
            said = "no end of them" if found >= MOST else f"{found}"
            fail(f"{line}: {said} got in{span}, not {plain(units)}", last.reason())

    def assert_refused(
        self, rule: str, line: str, status: int = 200, *, kind: str = "", **facts: Any
    ) -> None:
        """Fail unless it is refused, by this rule and by what the rule itself says.

        That is its limit, places, breaker or denial. For refusals of another kind, such as those of
        requests without a key, name the kind: `kind="key"`, see `Refusal`.
        """
        self._know(rule, kind)
        found = self._send(line, status, facts)
        refusal = found.entry.refusal
        way = f' with kind="{kind}"' if kind else ""
        if refusal is None:
            fail(f"{line}: got in, where {rule} was to refuse it{way}", found.lenience(rule))
        elif found.entry.rule != rule:
            fail(f"{line}: {rule} was to refuse it{way}", found.reason())
        elif refusal.kind not in ([kind] if kind else TERMS):
            way = way or " by its own terms"
            other = f'not with kind="{refusal.kind}"'
            fail(f"{line}: {rule} was to refuse it{way}, {other}", found.reason())

    def __repr__(self) -> str:
        return f"<Trial: {self.keeper!r} at {self.clock.now() / 1e6:g} s>"

    def _rush(
        self, line: str, within: float, status: int, facts: dict[str, Any]
    ) -> tuple[int, Outcome]:
        # How many got in, and what became of the last one.
        end = self.clock.now() / 1e6 + within
        count = 0
        while True:
            found = self._send(line, status, facts)
            refusal = found.entry.refusal
            if refusal is None:
                count += 1
                if count < MOST:
                    continue
                break
            wait = refusal.retry_after
            if wait <= 0.0 or self.clock.now() / 1e6 + wait > end:
                break
            self.clock.advance(wait)
        self.clock.set(max(end, self.clock.now() / 1e6))
        return count, found

    def _send(self, line: str, status: int, facts: dict[str, Any]) -> Outcome:
        found = self._enter(line, facts)
        if found.entry:
            self.keeper.leave(found.entry, status)
        return found

    def _enter(self, line: str, facts: dict[str, Any]) -> Outcome:
        asked = request(line, facts, self.keeper.rules.client)
        return Outcome(self.keeper.lodge.book, asked, self.keeper.enter(asked))

    def _know(self, rule: str, kind: str) -> None:
        names = [one.name for one in self.keeper.rules.rules]
        if rule not in names:
            hint = closest(rule, names) or f"; there are {', '.join(names) or 'none'}"
            raise ValueError(f'there is no rule "{rule}"{hint}')
        if kind and kind not in KINDS:
            known = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
            raise ValueError(f"kind is {known}, not {kind!r}{closest(kind, KINDS)}")


def request(line: str, facts: dict[str, Any], client: Client) -> Request:
    """The request that a line such as `GET /search?q=1` begins, and facts go on with."""
    method, _, target = line.partition(" ")
    if not target.startswith("/"):
        raise ValueError(f'a request is a line such as "GET /search?q=1", not {line!r}')
    for word in facts:
        if word in LINE:
            raise TypeError(f'the {word} is part of the line, as in "GET /search?q=1"')
        if word not in FACTS:
            known = f"{', '.join(FACTS[:-1])} and {FACTS[-1]}"
            hint = closest(word, [one for one in (*FACTS, *OPTIONS) if one != word])
            rest = f"{hint} A request has" if hint else "; a request has"
            raise TypeError(f'there is no "{word}" here{rest} {known}')
    path, _, query = target.partition("?")
    return Request(method, path, query=query, **placed(facts, client))


def placed(facts: dict[str, Any], client: Client) -> dict[str, Any]:
    """The facts, with the client's address as the rules count it."""
    number = located("client", facts)
    located("address", facts)
    if number is None:
        return facts
    key = cluster(number, client.ipv4, client.ipv6)
    return {"address": spell(number), **facts, "client": key}


def located(word: str, facts: dict[str, Any]) -> int | None:
    """The number of an address; None where there is none."""
    given = facts.get(word, "")
    # What a function finds is not known yet, and who comes by a unix socket has no address.
    if callable(given) or given in ("", LOCAL):
        return None
    number = parse(given) if isinstance(given, str) else None
    if number is None:
        said = f"{word} is an address such as 203.0.113.7 or 2001:db8::1"
        raise ValueError(f"{said}, not {given!r}")
    return number


class Outcome(NamedTuple):
    """What became of a request, and all that tells why."""

    book: Ruleset
    asked: Request
    entry: Entry

    def reason(self) -> str:
        """Why it was refused or got in: `refused by api: over 1/min, again in 60 s`."""
        refusal = self.entry.refusal
        if refusal is not None:
            return f"refused by {refusal.rule.name}: {self._cause(refusal)}"
        names = [ruling.name for ruling in self.book.find(self.asked)]
        if not names:
            return "no rule applies to it"
        return "; ".join(filter(None, map(self.lenience, names)))

    def lenience(self, name: str) -> str:
        """Why one rule let it in; nothing where there is nothing to say."""
        ruling = next((one for one in self.book.find(self.asked) if one.name == name), None)
        if ruling is None:
            return f"{name} does not apply to it"
        rule = ruling.rule
        if rule in self.entry.shadowed:
            rollout = f"its rollout of {plain(rule.rollout)}% leaves it out"
            why = "its mode is shadow" if rule.mode == "shadow" else rollout
            return f"{name} would have refused it, but {why}"
        if rule.empty_key == "allow" and not self._key(ruling):
            return f"{name} lets in who has no key: {self._missing(rule)}"
        decision = self.entry.decisions.get(name)
        return f"{name} has {decision.remaining} of {decision.limit} left" if decision else ""

    def _cause(self, refusal: Refusal) -> str:
        rule = refusal.rule
        if refusal.kind == "key":
            return self._missing(rule)
        if refusal.kind in CAUSES:
            return CAUSES[refusal.kind]
        ruling = next(one for one in self.book.rulings if one.rule is rule)
        met = next((one for one in self.entry.passes if one.ruling is ruling), None)
        if met is not None and not met.decision:
            return exceeded(met)
        if refusal.policy:
            return self._crowd(ruling)
        if met is not None and 0.0 < met.decision.retry_after == refusal.retry_after:
            return f"as many wait as may, {again(refusal.retry_after)}"
        return f"its breaker is open, {again(refusal.retry_after)}"

    def _missing(self, rule: Rule) -> str:
        pieces = [piece for part in rule.key for piece in template(part)]
        facts = dict.fromkeys(piece for piece in pieces if isinstance(piece, Fact))
        absent = [one for one in facts if not one.reader(rule.match.paths)(self.asked)]
        return ", ".join(
            f"no {one.family} {one.name}" if one.name else f"no {WORDS[one.family]}"
            for one in absent
        )

    def _crowd(self, ruling: Ruling) -> str:
        key = self._key(ruling)
        lane = ruling.lane(self.book.plan(self.asked) if ruling.plans else "", key)
        bulkhead = None if lane is None else lane.bulkhead
        if lane is not None and bulkhead is not None and bulkhead.inside(key) >= lane.most:
            return f"over {lane.most} at once"
        return "over what adaptive lets in at once"

    def _key(self, ruling: Ruling) -> str:
        return "" if ruling.key is None else ruling.key(self.asked)


# Where the kind of a refusal is all there is to say.
CAUSES = {"denied": "it lets nobody in", "unavailable": "its store cannot be asked"}


def exceeded(met: Pass) -> str:
    """Which limit a request is too much for."""
    decision = met.decision
    rate = next(limit.rate for limit in met.lane.limits if limit.name == decision.rule)
    if decision.retry_after == inf:
        return f"more than {rate} ever allows"
    return f"over {rate}, {again(decision.retry_after)}"


def again(wait: float) -> str:
    """When to come back."""
    return f"again in {plain(wait)} s"


def plain(number: float) -> str:
    """A number without an exponent, to the microsecond."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def fail(claim: str, reason: str) -> None:
    """Say what is wrong with a claim, and why."""
    raise AssertionError(f"{claim}; {reason}" if reason else claim)
