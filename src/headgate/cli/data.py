"""Data: what a rule does, for programs: its limits as objects, and all else as a file spells it."""

from __future__ import annotations

from typing import Any

from headgate.cli.words import enforced, keyed, meets, otherwise, planned
from headgate.rules.model.allowance import Allowance
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.table import spelled
from headgate.rules.model.terms import Terms

# What a rule says of what it does, beside its limits and who has others.
WORDS = ("concurrent", "bandwidth", "adaptive", "breaker", "deny", "cost", "counts")


def ruled(rule: Rule, rules: Rules) -> dict[str, Any]:
    """One rule."""
    return {
        "rule": rule.name,
        "meets": ", ".join(meets(rule)),
        "key": ", ".join(keyed(rule)),
        "may": may(rule, rules),
        "over": otherwise(rule),
        "mode": enforced(rule),
        "group": rule.group,
        "when_unavailable": rule.when_unavailable,
    }


def may(rule: Rule, rules: Rules) -> dict[str, Any]:
    """What those may whom it is about; only what it says."""
    plain = spelled(rule)
    found: dict[str, Any] = {word: plain[word] for word in WORDS if word in plain}
    if rule.limit:
        found["limit"] = limits(rule.limit, rule)
    for word, terms in (("overrides", rule.overrides), ("plans", planned(rule, rules))):
        if terms:
            found[word] = {name: termed(one, rule) for name, one in terms.items()}
    return found


def limits(several: tuple[Allowance, ...], rule: Rule) -> list[dict[str, Any]]:
    """Limits, each with its rate, the algorithm that counts it, and its options."""
    return [
        {"rate": str(one.rate), "by": one.by or rule.by, **options(one)} for one in several
    ]  # fmt: skip


def options(one: Allowance) -> dict[str, Any]:
    """What a limit says beside its rate and its algorithm."""
    return {word: value for word, value in spelled(one).items() if word not in ("rate", "by")}


def termed(terms: Terms | str, rule: Rule) -> Any:
    """What somebody may instead."""
    if isinstance(terms, str):
        return terms
    plain = spelled(terms)
    return {**plain, "limit": limits(terms.limit, rule)} if terms.limit else plain
