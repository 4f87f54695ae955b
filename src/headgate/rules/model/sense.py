"""Sense: whether the fields of a rule go together, and with the terms that others have under it.

Whatever would only fail once a request comes is tried here, so that rules that can be read can also
be kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headgate.algorithms.token_bucket import TokenBucket
from headgate.rules.matching.facts import Fact, composer
from headgate.rules.model.kinds import Path, Report
from headgate.rules.model.match import NOT, Match
from headgate.rules.model.terms import UNLIMITED, WORDS, Terms

# What a rule can do; it does at least one of these.
DEEDS = ("limit", "concurrent", "bandwidth", "adaptive", "breaker", "deny")
# What says how another field is meant, and nothing where that is not there.
ABOUT = {
    "by": ("limit",),
    "cost": ("limit",),
    "counts": ("limit",),
    "empty_key": ("key",),
    "empty_key_status": ("key",),
    "overrides": ("key",),
    "when_unavailable": WORDS,
}
# What is never asked where nobody gets in.
MOOT = ("key", "over", "rollout")


def sense(rule: Any, report: Report, at: Path) -> None:
    """Look at a rule as a whole."""
    said = [word for word in (*ABOUT, *DEEDS, *MOOT) if getattr(rule, word) != usual(rule, word)]
    done = [word for word in DEEDS if word in said]
    if not done:
        report.add(at, f'"{rule.name}" does nothing; say one of {", ".join(DEEDS)}')
        return
    if rule.deny is not None:
        for word in said:
            if word in MOOT or (word in DEEDS and word != "deny"):
                report.add((*at, word), "is never asked, for deny lets nobody in; leave it out")
    for word, needs in ABOUT.items():
        if word in said and not any(need in said for need in needs):
            report.add(
                (*at, word), f"is about {' or '.join(needs)}, and there is none; leave it out"
            )
    if "empty_key_status" in said and rule.empty_key != "deny":
        report.add((*at, "empty_key_status"), f"is for empty_key: deny, not {rule.empty_key}")
    measure(rule, report, at)
    trace(rule, report, at)


def usual(rule: Any, word: str) -> Any:
    """What a rule has where it says nothing."""
    return getattr(type(rule), word)


def measure(rule: Any, report: Report, at: Path) -> None:
    """Whether there are such limits, and others for single keys."""
    prove(rule.limit, rule.by, report, (*at, "limit"))
    if rule.bandwidth is not None:
        pipe(rule.bandwidth, report, (*at, "bandwidth"))
    for key, terms in rule.overrides.items():
        agree(rule, terms, report, (*at, "overrides", key))


def trace(rule: Any, report: Report, at: Path) -> None:
    """Whether all that is asked of a request can be answered; a path must hold its parameters."""
    paths = rule.match.paths
    several = len(rule.key) > 1
    for number, part in enumerate(rule.key):
        try:
            composer([part], paths)
        except ValueError as problem:
            report.add((*at, "key", number) if several else (*at, "key"), str(problem))
    ask(rule.match, report, (*at, "match"))
    if rule.when is not None:
        answer(rule.when.facts, paths, report, (*at, "when"))
    for number, cost in enumerate(rule.cost):
        # A cost may have its conditions beside it, in the same mapping.
        ask(cost.match, report, (*at, "cost", number) if len(rule.cost) > 1 else (*at, "cost"))


def agree(rule: Any, terms: Any, report: Report, at: Path) -> None:
    """Whether terms are about what a rule does."""
    if not any(getattr(rule, word) for word in WORDS):
        report.add(at, f'rule "{rule.name}" has no limit, concurrent or bandwidth to change')
        return
    if terms == UNLIMITED:
        return
    lone = bool(rule.bandwidth) and not rule.limit and one(terms)
    for word in WORDS:
        if getattr(terms, word) and not getattr(rule, word) and not (lone and word == "limit"):
            report.add((*at, word), f'is about {word}, and rule "{rule.name}" has none to change')
            return
    prove(terms.limit, rule.by, report, (*at, "limit"))
    if terms.bandwidth is not None or lone:
        pipe(terms.limit[0].rate if lone else terms.bandwidth, report, (*at, "bandwidth"))


def one(terms: Terms) -> bool:
    """Whether they are a single rate, which says what is meant where there is but one thing to."""
    return len(terms.limit) == 1 and terms.bandwidth is None and not terms.concurrent


def prove(limits: Any, by: str, report: Report, at: Path) -> None:
    """Whether the algorithm can keep such limits."""
    for number, allowance in enumerate(limits):
        allowance.prove(by, report, (*at, number) if len(limits) > 1 else at)


def pipe(rate: Any, report: Report, at: Path) -> None:
    """Whether so many bytes can be counted."""
    try:
        TokenBucket("1/s" if rate.unlimited else rate)
    except (TypeError, ValueError) as problem:
        report.add(at, str(problem))


def ask(match: Match, report: Report, at: Path) -> None:
    """Whether a match can be held against requests."""
    answer(map(Fact.parse, match.conditions), match.paths, report, at)
    answer(map(Fact.parse, match.exceptions), match.paths, report, (*at, NOT))


def answer(facts: Iterable[Fact], paths: tuple[str, ...], report: Report, at: Path) -> None:
    """Whether these facts can be read off a request."""
    for fact in facts:
        try:
            fact.reader(paths)
        except ValueError as problem:
            report.add(at if at[-1:] == ("when",) else (*at, str(fact)), str(problem))
