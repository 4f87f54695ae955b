"""Lint: what rules say that is probably not meant, each with what would be better.

Nothing here is wrong: rules with warnings do what they say. `warnings(rules)` tells what a second
reader would ask about.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import collapse_addresses, ip_network

from headgate.errors import Problem
from headgate.rules.model.kinds import Path, closest
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.terms import UNLIMITED, WORDS, Terms
from headgate.rules.review import forwarding, habits
from headgate.rules.review.cover import covers

Warned = Iterator[tuple[Path, str]]

# No more rules of one group are held against one another.
MOST = 1000
# Networks with fewer bits than these, by the version of their addresses, are nobody's own.
SHORTEST = {4: 8, 6: 16}


def warnings(rules: Rules) -> tuple[Problem, ...]:
    """What is probably not meant, in the order of the file; lines and columns are not known."""
    found = [*trusted(rules), *planned(rules), *forwarded(rules)]
    if not rules.rules:
        found.append((("rules",), "there is none, so everything is let in; write one"))
    ruled = [*grouped(rules), *repeated(rules)]
    sure = habits.counting(rules)
    for number, rule in enumerate(rules.rules):
        at = ("rules", number)
        ruled += [((*at, *where), said) for where, said in habits.odd(rule, rules, sure)]
    # Stable: what is said of one rule stays in its order.
    ruled.sort(key=lambda one: int(one[0][1]))
    return tuple(Problem(said, where, warning=True) for where, said in found + ruled)


def trusted(rules: Rules) -> Warned:
    """Whom the file believes too easily."""
    client = rules.client
    networks = [ip_network(cidr) for cidr in client.trusted_proxies]
    for version in (4, 6):
        same = [network for network in networks if network.version == version]
        for network in collapse_addresses(same):  # type: ignore[type-var]
            if network.prefixlen < SHORTEST[version] and not network.is_private:
                said = f"{network} is far more than anybody's proxies, and all there are believed"
                yield (
                    ("client", "trusted_proxies"),
                    f"{said}; name the networks of your own proxies",
                )
    if client.trusted_hops and not client.trusted_proxies:
        said = "whoever reaches the app past the proxies chooses their own address"
        yield ("client", "trusted_hops"), f"{said}; name the proxies in trusted_proxies too"


def planned(rules: Rules) -> Warned:
    """Plans that anybody can choose, and those that change nothing."""
    if habits.free(rules.plan) and not habits.fronted(rules):
        said = "is whatever a client sends, so everybody chooses their own plan"
        yield ("plan",), f"{said}; let the app say it, or a proxy that client.trusted_proxies names"
    known = {rule.name: rule for rule in rules.rules}
    for plan, terms in rules.plans.items():
        measured = [rule for rule in rules.rules if any(getattr(rule, word) for word in WORDS)]
        idle = not measured if terms == UNLIMITED else all(
            same(known[name], one) for name, one in terms.items()
        )  # fmt: skip
        if idle:
            yield ("plans", plan), "changes nothing: who has it may what all may; leave it out"


def same(rule: Rule, terms: Terms | str) -> bool:
    """Whether these terms are those of the rule."""
    if terms == UNLIMITED:
        return False
    return all(
        not getattr(terms, word) or getattr(terms, word) == getattr(rule, word) for word in WORDS
    )


def forwarded(rules: Rules) -> Warned:
    """What the gateway does."""
    if rules.gateway is not None:
        for where, said in forwarding.odd(rules.gateway):
            yield ("gateway", *where), said


def grouped(rules: Rules) -> Warned:
    """Rules that are never reached, or alone in their group."""
    groups: dict[str, list[int]] = {}
    for number, rule in enumerate(rules.rules):
        if rule.group:
            groups.setdefault(rule.group, []).append(number)
    for group, numbers in groups.items():
        if len(numbers) == 1:
            hint = closest(group, [other for other in groups if other != group])
            said = f"is alone in its group, which does nothing then{hint or '; leave it out'}"
            yield ("rules", numbers[0], "group"), said
        for place, number in enumerate(numbers[:MOST]):
            for earlier in numbers[:place]:
                if covers(rules.rules[earlier], rules.rules[number]):
                    name = rules.rules[earlier].name
                    said = f'is never reached: "{name}" of the same group meets all it would'
                    yield ("rules", number), f"{said}; put it before that one"
                    break


def repeated(rules: Rules) -> Warned:
    """Rules that count the same twice."""
    seen: dict[tuple[object, ...], str] = {}
    for number, rule in enumerate(rules.rules):
        terms = (rule.limit, rule.concurrent, rule.bandwidth)
        what = (rule.match, rule.when, rule.key, *terms, rule.by, rule.cost, rule.counts)
        if any(terms) and what in seen and not rule.group:
            said = f'counts what "{seen[what]}" counts, for the same keys; keep one of them'
            yield ("rules", number), said
        seen.setdefault(what, rule.name)
