"""Routes: which rules a request meets of which only the method and the path are known."""

from __future__ import annotations

from typing import NamedTuple

from headgate.cli.words import listed
from headgate.rules.matching.comparison import meeting
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.glob import wild
from headgate.rules.matching.paths import parse
from headgate.rules.model.match import Match
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

# What is known of a request, and how many routes are told unasked.
KNOWN = ("method", "path")
MOST = 50


class Way(NamedTuple):
    """A route as it is called, and a request that takes it; of any method if it has none."""

    label: str
    method: str
    path: str


def usual(rules: Rules) -> list[Way]:
    """The routes that the rules themselves name, and then the gateway."""
    found: dict[str, Way] = {}
    routes = () if rules.gateway is None else rules.gateway.routes
    for match in [one.match for one in (*rules.rules, *routes)]:
        for method in match.conditions.get("method", ("",)):
            for pattern in match.paths:
                if not wild(method) and len(found) < MOST:
                    label = f"{method or 'any'} {pattern}"
                    found.setdefault(label, Way(label, method, sample(pattern)))
    return [*found.values()]


def sample(pattern: str) -> str:
    """A path that fits the pattern."""
    return "/" + "/".join(
        segment.replace("**", "x").replace("*", "x") for segment in parse(pattern)
    )


def met(rules: Rules, way: Way) -> list[tuple[Rule, str]]:
    """The rules that such a request meets, in order, each with what else must be true of it."""
    found: list[tuple[Rule, str]] = []
    settled: set[str] = set()
    for rule in rules.rules:
        if rule.group in settled or not fits(rule.match, way):
            continue
        also = condition(rule, way)
        found.append((rule, also))
        # Of a group only the first that fits counts; this one is sure to.
        if rule.group and not also:
            settled.add(rule.group)
    return found


def fits(match: Match, way: Way) -> bool:
    """Whether nothing that is known speaks against it."""
    for word in known(way):
        fact, value = Fact.parse(word), getattr(way, word)
        if word in match.conditions and not meeting(fact, match.conditions[word])(value):
            return False
        if word in match.exceptions and meeting(fact, match.exceptions[word])(value):
            return False
    return True


def known(way: Way) -> tuple[str, ...]:
    """What is known of a request that takes the route."""
    return KNOWN if way.method else KNOWN[1:]


def condition(rule: Rule, way: Way) -> str:
    """What else must be true of a request, as people say it."""
    conditions, exceptions = rule.match.conditions, rule.match.exceptions
    told = known(way)
    said = [f"{word} {listed(conditions[word])}" for word in conditions if word not in told]
    said += [f"not {word} {listed(exceptions[word])}" for word in exceptions if word not in told]
    return ", ".join([*said, *([] if rule.when is None else [str(rule.when)])])
