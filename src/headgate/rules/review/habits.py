"""Habits: what a rule says that is probably not meant, each with what would be better."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

from headgate.rules.matching.facts import Fact, template
from headgate.rules.matching.glob import wild
from headgate.rules.matching.paths import FOREIGN, KNOWN, fits, respelled, shown
from headgate.rules.model.charge import MOST
from headgate.rules.model.kinds import Path, closest
from headgate.rules.model.match import NOT, Match
from headgate.rules.model.over import Degrade, Redirect, Wait
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.terms import UNLIMITED
from headgate.rules.review.cover import covers

Warned = Iterator[tuple[Path, str]]

# A log of more moments than this is a lot to keep for every key.
LONG = 10_000
# What anybody can write into a request.
FREE = ("header", "query", "cookie")
# What nobody chooses who is counted.
SURE = ("client.ip", "user")
# So many rules that count by these are held against one that does not.
MOST_SURE = 100
# Where proxies write whom they saw; anybody can write it too.
SEEN = ("x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip", "true-client-ip")


def odd(rule: Rule, rules: Rules, sure: list[Rule]) -> Warned:
    """All that is odd about one rule, by the way to it from there; `sure` as of `counting`."""
    yield from met(rule, rules)
    yield from read(rule)
    yield from known(rule, rules, sure)
    yield from exempt(rule, rules)
    yield from measured(rule)
    yield from paid(rule)
    yield from refused(rule)
    yield from enforced(rule, rules)


def met(rule: Rule, rules: Rules) -> Warned:
    """Conditions that nobody meets, or anybody who likes."""
    for word in (*rule.match.conditions, *rule.match.exceptions):
        if word.removeprefix("header.") in SEEN:
            yield ("match",), guised(word)
    for value in rule.match.conditions.get("plan", ()):
        if rules.plans and value and not wild(value) and value not in rules.plans:
            hint = closest(value, [*rules.plans]) or f"; there are {', '.join(rules.plans)}"
            yield ("match", "plan"), f'there is no plan "{value}"{hint}'


def guised(word: str) -> str:
    """What is said of a header that tells who somebody is."""
    said = f"{word} is whatever a client sends, and client.ip is who it is"
    return f"{said}; write that, and name the proxies to believe in client.trusted_proxies"


def read(rule: Rule) -> Warned:
    """Paths that are spelled for another router, and meet nothing here."""
    yield from literal(rule.match, ("match",))
    several = len(rule.cost) > 1
    for number, cost in enumerate(rule.cost):
        yield from literal(cost.match, ("cost", number) if several else ("cost",))


def literal(match: Match, at: Path) -> Warned:
    """The paths of one match."""
    for conditions, here in ((match.conditions, at), (match.exceptions, (*at, NOT))):
        paths = conditions.get("path", ())
        for number, path in enumerate(paths):
            if FOREIGN.search(path):
                said = f"{shown(path)} is taken literally; {KNOWN}, as in {respelled(path)}"
                yield (*here, "path", number) if len(paths) > 1 else (*here, "path"), said


def known(rule: Rule, rules: Rules, sure: list[Rule]) -> Warned:
    """Keys that whoever is counted can choose."""
    found = facts(rule)
    for fact in found:
        if fact.name in SEEN:
            yield ("key",), guised(str(fact))
            return
    claimed = [fact for fact in found if fact.family in FREE]
    if not claimed or fronted(rules) or any(covers(one, rule) for one in sure):
        return
    said = f"{claimed[0]} is whatever a client sends: with another one it is counted anew"
    if not any(str(fact) in SURE for fact in found):
        said += ", with yours it counts for you"
    yield ("key",), f"{said}; count by user, or add a rule by client.ip"


def counting(rules: Rules) -> list[Rule]:
    """The rules that count by what nobody chooses, as many of them as are looked at."""
    found = [
        rule
        for rule in rules.rules
        if rule.key and all(str(fact) in SURE for fact in facts(rule))
        and rule.limits() and rule.mode == "enforce"
        and rule.empty_key != "allow" and not rule.group
    ]  # fmt: skip
    return found[:MOST_SURE]


def facts(rule: Rule) -> list[Fact]:
    """The facts that a rule's key is made of."""
    return [piece for part in rule.key for piece in template(part) if isinstance(piece, Fact)]


def free(word: str) -> bool:
    """Whether anybody can write what a fact says."""
    return bool(word) and Fact.parse(word).family in FREE


def fronted(rules: Rules) -> bool:
    """Whether proxies stand in front, who may have written what a request carries."""
    return bool(rules.client.trusted_proxies or rules.client.trusted_hops)


def exempt(rule: Rule, rules: Rules) -> Warned:
    """Overrides for keys that no request has."""
    if [str(fact) for fact in facts(rule)] != ["client.ip"] or rule.key != ("client.ip",):
        return
    for key in rule.overrides:
        try:
            network = ip_network(key)
        except ValueError:
            said = "is no address, and the key is client.ip; write one such as 203.0.113.7"
            yield ("overrides", key), said
            continue
        counted = rules.client.ipv4 if network.version == 4 else rules.client.ipv6
        if network.prefixlen == counted:
            continue
        if network.prefixlen < counted:
            said = "is a network, and keys are compared as they are: none is in it"
            yield ("overrides", key), f"{said}; write a rule that matches client.ip: {key}"
        else:
            wider = network.supernet(new_prefix=counted)
            yield ("overrides", key), f"is counted as a part of {wider}; write that"


def measured(rule: Rule) -> Warned:
    """Limits that are dear, or count something else than they seem to."""
    everything: list[tuple[Path, Any]] = [(("limit",), rule.limit)]
    everything += [
        (("overrides", key), terms.limit)
        for key, terms in rule.overrides.items() if terms != UNLIMITED
    ]  # fmt: skip
    for where, limits in everything:
        for one in limits:
            yield from weighed(rule, one, where)
    if rule.bandwidth is not None and not rule.bandwidth.in_bytes and not rule.bandwidth.unlimited:
        said = f"counts bytes: {rule.bandwidth} is {rule.bandwidth.count} of them"
        yield ("bandwidth",), f"{said}; write it in B, KB or MB"


def weighed(rule: Rule, one: Any, where: Path) -> Warned:
    """One limit of a rule."""
    if (one.by or rule.by) == "sliding_log" and one.rate.count > LONG and not one.unlimited:
        said = f"a sliding_log keeps {one.rate.count:,} moments for every key"
        yield where, f"{said}; sliding_window needs a few numbers"
    if one.rate.count == 0:
        yield where, f"{one.rate} lets nothing in; deny: true says so"
    if one.rate.in_bytes and not any(cost.by for cost in rule.cost):
        said = f"{one.rate} counts requests, each as one byte"
        yield where, f"{said}; say cost: {{by: body}}, or use bandwidth"


def paid(rule: Rule) -> Warned:
    """Costs that never fit, or that a client chooses."""
    rooms = [limit.most for limit in rule.limits() if limit.most > 0]
    several = len(rule.cost) > 1
    for number, cost in enumerate(rule.cost):
        at: Path = ("cost", number) if several else ("cost",)
        if not cost.by and rooms and cost.units > min(rooms):
            said = f"{cost.units:,} units never fit into a limit of {min(rooms):,}"
            yield at, f"{said}, so what costs them is always refused; raise the burst"
        if cost.by and not cost.later and cost.most == MOST:
            said = f"{cost.by} is whatever a client says, up to {MOST:,}"
            yield at, f"{said}; say with most how much of it is believed"


def refused(rule: Rule) -> Warned:
    """What happens to the refused that they will not see coming."""
    over = rule.over
    if rule.deny is not None and not rule.match and rule.when is None:
        yield ("deny",), "lets nobody in at all, for the rule has no match; say whom it is about"
    if isinstance(over, Wait) and rule.counts is not None:
        said = "makes requests wait that may turn out not to count"
        yield ("over",), f"{said}; with counts, reject is better"
    if isinstance(over, Wait) and not (rule.limit or rule.concurrent or rule.adaptive):
        yield ("over",), "nothing here can be waited for; leave it out"
    if isinstance(over, Degrade) and not over.body and not over.stale:
        said = f"answers {over.status} with an empty body, as if that were the answer"
        yield ("over",), f"{said}; say a body, or stale"
    if isinstance(over, Redirect) and returns(rule, over.to):
        said = f"{over.to} meets this rule again, so whoever is refused goes in circles"
        yield ("over",), f"{said}; except it with match: {{not: {{path: {aim(over.to)}}}}}"


def returns(rule: Rule, address: str) -> bool:
    """Whether who is sent there comes back to the rule."""
    path = aim(address)
    methods = rule.match.conditions.get("method", ("GET",))
    kept = isinstance(rule.over, Redirect) and rule.over.status in (307, 308)
    if not address.startswith("/") or address.startswith("//"):
        return False
    if rule.when is not None or not (kept or "GET" in methods or any(map(wild, methods))):
        return False
    excluded = rule.match.exceptions.get("path", ())
    if excluded and fits(excluded)(path):
        return False
    return not rule.match.paths or fits(rule.match.paths)(path)


def aim(address: str) -> str:
    """The path of an address."""
    return address.partition("?")[0].partition("#")[0]


def enforced(rule: Rule, rules: Rules) -> Warned:
    """Rules that are enforced for nobody, or say what to do in a case that cannot be."""
    if rule.rollout == 0:
        yield ("rollout",), "is enforced for nobody; mode: shadow says so"
    elif rule.rollout < 100 and rule.mode == "shadow":
        yield ("rollout",), "says nothing in shadow, where nobody is refused; leave one of them out"
    elif rule.rollout < 100 and not rule.key:
        said = "is a share of keys, and without a key it is all requests or none"
        yield ("rollout",), f"{said}; say a key"
    if rule.when_unavailable != "local" and rules.store == "memory://":
        said = "is about a store that may be away, and memory:// never is"
        yield ("when_unavailable",), f"{said}; leave it out"
