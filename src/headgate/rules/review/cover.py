"""Cover: whether all requests that meet one rule also meet another.

The answer is no where it is not plain: what is found to be covered is.
"""

from __future__ import annotations

from ipaddress import ip_network

from headgate.rules.matching.facts import Fact
from headgate.rules.matching.glob import Glob, wild
from headgate.rules.matching.paths import parse
from headgate.rules.model.match import Match
from headgate.rules.model.rule import Rule


def covers(wider: Rule, rule: Rule) -> bool:
    """Whether whoever meets `rule` has met `wider` too."""
    if wider.when is not None and wider.when != rule.when:
        return False
    return encloses(wider.match, rule.match)


def encloses(wider: Match, match: Match) -> bool:
    """Whether all that fits one match fits the wider one."""
    for fact, values in wider.exceptions.items():
        # What the wider one excludes, the other must exclude as well.
        if not within(fact, match.exceptions.get(fact, ()), values):
            return False
    return all(
        within(fact, values, match.conditions.get(fact, ()))
        for fact, values in wider.conditions.items()
    )


def within(fact: str, wider: tuple[str, ...], values: tuple[str, ...]) -> bool:
    """Whether each of the values is also one of the wider ones; no values are any value."""
    if not values:
        return any(parse(wide) == ("**",) if fact == "path" else wide == "*" for wide in wider)
    return all(any(holds(fact, wide, value) for wide in wider) for value in values)


def holds(fact: str, wide: str, value: str) -> bool:
    """Whether one value holds all that another does."""
    if wide == value:
        return True
    if fact == "path":
        return leads(parse(wide), parse(value))
    if fact == "client.ip":
        outer, inner = ip_network(wide), ip_network(value)
        return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]
    if wild(value):
        return wide == "*"
    # A method of GET is also HEAD.
    kind = Fact.parse(fact)
    outer_values = kind.alike(wide)
    return all(any(Glob(one).matches(each) for one in outer_values) for each in kind.alike(value))


def leads(wide: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a pattern of paths holds another, segment by segment."""
    if wide == ("**",):
        return True
    if not wide or not path:
        return wide == path
    if wide[0] == "**" or path[0] == "**":
        return wide == path
    return steps(wide[0], path[0]) and leads(wide[1:], path[1:])


def steps(wide: str, segment: str) -> bool:
    """Whether one segment of a pattern holds another."""
    if wide == "*" or wide[0] == "{" or wide == segment:
        return True
    plain = not wild(segment) and segment[0] != "{"
    return plain and wild(wide) and Glob(wide).matches(segment)
