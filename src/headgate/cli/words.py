"""Words: what a rule is about and what it does, said in few, a line for each thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headgate.rules.model.allowance import Allowance
from headgate.rules.model.charge import MOST, Cost
from headgate.rules.model.match import Match
from headgate.rules.model.over import OVER
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.table import spelled
from headgate.rules.model.terms import UNLIMITED, WORDS, Terms

SHORT = 40
# Of many values, keys or plans so many are told.
FEW = 3


def meets(rule: Rule) -> list[str]:
    """Which requests it is about: method and path as in a request, then all else."""
    said = [*asked(rule.match)]
    if rule.when is not None:
        said.append(f"when {rule.when}")
    return [*(said or ["all"]), *([f"first of group {rule.group}"] if rule.group else [])]


def asked(match: Match) -> Iterator[str]:
    """What must be true of a request, and what must not."""
    methods = "|".join(match.conditions.get("method", ()))
    line = " ".join(word for word in (methods, *match.paths) if word)
    if line:
        yield line
    for fact, values in match.conditions.items():
        if fact not in ("method", "path"):
            yield f"{fact} {listed(values)}"
    for fact, values in match.exceptions.items():
        yield f"not {fact} {listed(values)}"


def listed(values: Iterable[Any]) -> str:
    """One value or several; not all of many."""
    found = [str(value) or '""' for value in values]
    more = [f"{len(found) - FEW} more"] if len(found) > FEW else []
    return " or ".join(found[:FEW] + more)


def keyed(rule: Rule) -> list[str]:
    """Who is counted apart from whom, and what becomes of those without a key."""
    if not rule.key:
        return ["-" if rule.deny is not None else "all together"]
    said = [", ".join(rule.key)]
    return said if rule.empty_key == "deny" else [*said, f"without: {rule.empty_key}"]


def deeds(rule: Rule, rules: Rules) -> list[str]:
    """What those may whom it is about, who else may what, and what counts how much."""
    said = [limited(one, rule.by, str(Rule.by)) for one in rule.limit]
    said += [f"{rule.concurrent} at once"] if rule.concurrent else []
    said += [f"{rule.bandwidth} of the answer"] if rule.bandwidth else []
    said += [f"as many at once as {rule.adaptive.by} finds"] if rule.adaptive else []
    said += [f"while under {rule.breaker.failures:.0%} fail"] if rule.breaker else []
    said += [f"nothing ({rule.deny.status})"] if rule.deny else []
    said += [f"costs {paid(one)}" for one in rule.cost]
    said += [f"counts only {listed(rule.counts.status)}"] if rule.counts else []
    said += several("key", rule.overrides, rule)
    said += several("plan", planned(rule, rules), rule)
    if rule.when_unavailable != "local":
        said.append(f"without store: {rule.when_unavailable}")
    return said


def limited(one: Allowance, by: str, usual: str) -> str:
    """One limit: its rate, and who counts it if that is not usual; `by` unless it says."""
    plain = spelled(one)
    said = str(plain.pop("rate"))
    by = plain.pop("by", by)
    if "calendar" in plain:
        zone = f" in {plain.pop('zone')}" if "zone" in plain else ""
        said = f"{one.rate.count} a calendar {plain.pop('calendar')}{zone}"
    elif by != usual and not one.unlimited:
        said += f" by {by}"
    said += f" burst {plain.pop('burst')}" if "burst" in plain else ""
    rest = ", ".join(f"{word} {told(value)}" for word, value in plain.items())
    return f"{said} ({rest})" if rest else said


def told(value: Any) -> str:
    """A value as a rule file spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def paid(cost: Cost) -> str:
    """One cost, and for whom."""
    units = cost.by if cost.units == 1 and cost.by else str(cost.units)
    said = f"{units} x {cost.by}" if cost.by and cost.units != 1 else units
    said += f" / {cost.per}" if cost.per != 1 else ""
    said += f" up to {cost.most}" if cost.most != MOST else ""
    whom = ", ".join(asked(cost.match))
    return f"{said} for {whom}" if whom else said


def several(noun: str, terms: Any, rule: Rule) -> list[str]:
    """What some keys or plans may; not all of many."""
    said = [f"{noun} {name}: {allowed(one, rule)}" for name, one in [*terms.items()][:FEW]]
    return [*said, f"and {len(terms) - FEW} more"] if len(terms) > FEW else said


def allowed(terms: Terms | str, rule: Rule) -> str:
    """What somebody may instead."""
    if isinstance(terms, str):
        return terms
    said = [limited(one, rule.by, rule.by) for one in terms.limit]
    said += [f"{terms.concurrent} at once"] if terms.concurrent else []
    said += [f"{terms.bandwidth} of the answer"] if terms.bandwidth else []
    return " and ".join(said)


def planned(rule: Rule, rules: Rules) -> dict[str, Terms | str]:
    """What the plans say of a rule."""
    found: dict[str, Terms | str] = {}
    for plan, terms in rules.plans.items():
        if terms == UNLIMITED and any(getattr(rule, word) for word in WORDS):
            found[plan] = UNLIMITED
        elif terms != UNLIMITED and rule.name in terms:
            found[plan] = terms[rule.name]
    return found


def otherwise(rule: Rule) -> str:
    """What happens when the answer is no."""
    if rule.deny is not None:
        return "-"
    plain: Any = OVER.spell(rule.over)
    if isinstance(plain, str):
        return plain if len(plain) <= SHORT else f"{plain[:SHORT]}..."
    ((way, terms),) = plain.items()
    return f"{way} ({', '.join(terms)})"


def enforced(rule: Rule) -> str:
    """Whether it is enforced, and for how many."""
    if rule.rollout == 100 or rule.mode == "shadow":
        return str(rule.mode)
    return f"{rule.mode} for {rule.rollout:g}%"
