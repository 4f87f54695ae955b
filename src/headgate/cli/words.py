"""Words: what a rule is about and what it does, said in few."""

from __future__ import annotations

from typing import Any

from headgate.rules.model.match import Match
from headgate.rules.model.over import OVER
from headgate.rules.model.rule import Rule

SHORT = 40


def meets(rule: Rule) -> str:
    """Which requests it is about: method and path as in a request, then all else."""
    match: Match = rule.match
    methods = "|".join(match.conditions.get("method", ()))
    line = " ".join(word for word in (methods, " ".join(match.paths)) if word)
    said = [line] if line else []
    said += [
        f"{fact} {listed(values)}"
        for fact, values in match.conditions.items() if fact not in ("method", "path")
    ]  # fmt: skip
    said += [f"not {fact} {listed(values)}" for fact, values in match.exceptions.items()]
    if rule.when is not None:
        said.append(f"when {rule.when}")
    return ", ".join(said) or "all"


def listed(values: tuple[str, ...]) -> str:
    """One value or several; not all of many."""
    few = [value or '""' for value in values[:3]]
    return " or ".join(few + ([f"{len(values) - 3} more"] if len(values) > 3 else []))


def keyed(rule: Rule) -> str:
    """Who is counted apart from whom."""
    return ", ".join(rule.key) or ("-" if rule.deny is not None else "all together")


def deeds(rule: Rule) -> str:
    """What those may whom it is about, and who counts it."""
    said = [f"{one.rate} by {one.by or rule.by}" for one in rule.limit]
    said += [f"{rule.concurrent} at once"] if rule.concurrent else []
    said += [f"{rule.bandwidth} of the answer"] if rule.bandwidth else []
    said += [f"as many at once as {rule.adaptive.by} finds"] if rule.adaptive else []
    said += [f"while under {rule.breaker.failures:.0%} fail"] if rule.breaker else []
    said += [f"nothing ({rule.deny.status})"] if rule.deny else []
    return " and ".join(said)


def otherwise(rule: Rule) -> str:
    """What happens when the answer is no."""
    if rule.deny is not None:
        return "-"
    plain: Any = OVER.spell(rule.over)
    if isinstance(plain, str):
        return plain if len(plain) <= SHORT else f"{plain[:SHORT]}..."
    ((way, terms),) = plain.items()
    return f"{way} ({', '.join(terms)})"
