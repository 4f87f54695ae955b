"""Fit: what of a rule file a log has enough to say about, and what is left out, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from headgate.replay.detect import Format
from headgate.replay.words import NAMES, SIZE, STATUS, TOOK
from headgate.rules.live.ruleset import facts
from headgate.rules.matching.facts import Fact, template
from headgate.rules.model.charge import LATER
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.terms import UNLIMITED

# What a log calls the facts that have another name there.
SAID = {
    "method": ("method", "request"),
    "path": ("path", "request"),
    "query": ("query", "path", "request"),
    "host": ("host",),
    "scheme": ("scheme",),
    "user": ("user",),
    "client.ip": ("client", "x-forwarded-for"),
}
HEADERS = {"host": "host", "x-forwarded-for": "x-forwarded-for"}
UNFIT = {
    "adaptive": "what an adaptive limit would have found cannot be replayed",
    "breaker": "what a breaker would have done to answers cannot be replayed",
    "bandwidth": "bandwidth slows answers down and refuses nobody: not replayed",
}


class Note(NamedTuple):
    """Something that was left out: of which rule, and why."""

    rule: str
    text: str


def fit(rules: Rules, form: Format, enforce: bool = False) -> tuple[Rules, tuple[Note, ...]]:
    """The rules as far as they can be replayed, and what cannot; none in shadow with `enforce`."""
    notes: list[Note] = []
    kept = []
    for rule in rules.rules:
        one = fitted(rule, form, notes)
        if one is not None:
            kept.append(replace(one, mode="enforce", rollout=100.0) if enforce else one)
    if rules.budget is not None:
        notes.append(
            Note("", "the budget cannot be replayed: a log does not say what it was asked")
        )
    plan = rules.plan if rules.plan in ("", "plan") or knows(form, rules.plan) else ""
    if rules.plans and plan in ("", "plan"):
        notes.append(
            Note("", "the log does not say who has which plan: each rule's own terms hold")
        )
    found = replace(
        rules, rules=tuple(kept), plans=planned(rules, {rule.name for rule in kept}),
        plan=plan, store="memory://", budget=None, gateway=None, service=None,
    )  # fmt: skip
    return found, tuple(notes)


def planned(rules: Rules, names: set[str]) -> dict[str, Any]:
    """The plans, as far as they are about rules that are kept."""
    found: dict[str, Any] = {}
    for plan, terms in rules.plans.items():
        if terms == UNLIMITED:
            found[plan] = terms
            continue
        kept = {name: one for name, one in terms.items() if name in names}
        if kept:
            found[plan] = kept
    return found


def fitted(rule: Rule, form: Format, notes: list[Note]) -> Rule | None:
    """One rule as far as it can be replayed; None if nothing of it can."""
    unknown = next((one for one in needs(rule) if not knows(form, one)), "")
    if unknown:
        notes.append(Note(rule.name, f"left out: the log does not have {unknown}"))
        return None
    for reason in later(rule, form):
        notes.append(Note(rule.name, f"left out: {reason}"))
        return None
    changes: dict[str, Any] = {}
    for word, reason in UNFIT.items():
        if getattr(rule, word):
            notes.append(Note(rule.name, reason))
            changes |= {} if word == "bandwidth" else {word: None}
    timeless = NAMES[TOOK] not in form.told
    if rule.concurrent and timeless:
        notes.append(
            Note(rule.name, "concurrent is left out: the log does not say how long requests took")
        )
        if not rule.limit or rule.overrides:
            return None
        changes["concurrent"] = 0
    if not (rule.limit or rule.deny or (rule.concurrent and not timeless)):
        return None
    return replace(rule, **changes) if changes else rule


def needs(rule: Rule) -> Iterator[str]:
    """The facts that have to be known of a request."""
    for part in rule.key:
        yield from (str(one) for one in template(part) if isinstance(one, Fact))
    yield from sorted(facts(rule))
    for cost in rule.cost:
        yield from (*cost.match.conditions, *cost.match.exceptions)
        if cost.by and not cost.later:
            yield "size" if cost.by == "body" else str(cost.by)


def later(rule: Rule, form: Format) -> Iterator[str]:
    """What has to be known of answers, and is not."""
    if rule.counts is not None and NAMES[STATUS] not in form.told:
        yield "it counts by the status, which the log does not have"
    for cost in rule.cost:
        by = str(cost.by).removeprefix(LATER)
        if cost.later and by != "body":
            yield f"its cost stands in {cost.by}, which logs do not have"
        elif cost.later and NAMES[SIZE] not in form.told:
            yield "its cost is the size of the answer, which the log does not have"


def knows(form: Format, spelled: str) -> bool:
    """Whether a log of this format tells a fact."""
    fact = Fact.parse(spelled)
    told = set(form.told) | set(form.headers)
    family = fact.family
    if family in ("header", "size"):
        name = fact.name or "content-length"
        return form.heads or HEADERS.get(name, name) in told
    if family == "cookie":
        return form.heads or bool({"cookie", f"cookie.{fact.name}"} & told)
    if family == "path" and fact.name:
        family = "path"
    return bool(set(SAID.get(family, ())) & told)


def wanted(*books: Rules) -> frozenset[str]:
    """What of a line is worth reading for these rules, by the names that a format has for it."""
    found: set[str] = set()
    for book in books:
        said = {one for rule in book.rules for one in needs(rule)}
        said |= {book.plan} - {"", "plan"}
        for fact in map(Fact.parse, said):
            found.add(named(fact))
        if any(rule.counts is not None or rule.concurrent for rule in book.rules):
            found.add(NAMES[STATUS])
        if any(cost.later for rule in book.rules for cost in rule.cost):
            found.add(NAMES[SIZE])
        if book.client.trusted_proxies or book.client.trusted_hops:
            found.add(book.client.header)
    return frozenset(found)


def named(fact: Fact) -> str:
    """What a format calls it."""
    if fact.family == "header":
        return HEADERS.get(fact.name, fact.name)
    return "content-length" if fact.family == "size" else fact.family
