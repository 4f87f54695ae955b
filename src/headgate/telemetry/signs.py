"""Signs: what a reading has to say about a condition, as counters or as a state.

Of each rule, route or whatever else a condition is about there is one sign, under its name; what is
not of one rule has the empty name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headgate.rules.model.condition import Condition
from headgate.telemetry.reading import Histogram, Reading

# All that can become of a request; each is counted under one of them.
OUTCOMES = ("allowed", "delayed", "refused", "failed_open", "failed_closed")
# How far a breaker, and the newest rules, are from being well.
BREAKERS = {"open": 1.0, "half_open": 0.5}


class Sign(NamedTuple):
    """What is to be seen of one thing: counters, or a number that is `level` at the moment.

    `bounds` are those of a histogram, whose counts are the counters.
    """

    counted: tuple[float, ...] = ()
    level: float | None = None
    bounds: Sequence[float] = ()


def signs(condition: Condition, reading: Reading) -> dict[str, Sign]:
    """What the reading says, by rule or route."""
    return dict(SIGNS[condition.when](condition, reading))


Found = Iterator[tuple[str, Sign]]


def meant(known: Mapping[str, Any], chosen: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Those that were chosen of what there is, or all of it."""
    for name, one in known.items():
        if not chosen or name in chosen:
            yield name, one


def outcomes(condition: Condition, reading: Reading) -> Found:
    """Of requests by each rule: how many it was, of how many."""
    words = ("failed_open", "failed_closed") if condition.when == "failed" else (condition.when,)
    for name, rule in meant(reading["rules"], condition.rule):
        asked = sum(rule[word] for word in OUTCOMES)
        yield name, Sign((sum(rule[word] for word in words), asked))


def queues(condition: Condition, reading: Reading) -> Found:
    """How many wait for each rule."""
    for name, rule in meant(reading["rules"], condition.rule):
        yield name, Sign(level=float(rule["queue"] + rule["waiting"]))


def breakers(condition: Condition, reading: Reading) -> Found:
    """How each rule's breaker stands, where it has one."""
    for name, rule in meant(reading["rules"], condition.rule):
        if rule["breaker"]:
            yield name, Sign(level=BREAKERS.get(rule["breaker"], 0.0))


def stores(condition: Condition, reading: Reading) -> Found:
    """Whether the store cannot be asked."""
    yield "", Sign(level=float(reading["store"]["degraded"]))


def reloads(condition: Condition, reading: Reading) -> Found:
    """Whether newer rules are bad, or not to be had."""
    yield "", Sign(level=float(reading["reload"]["result"] != "ok"))


def checks(condition: Condition, reading: Reading) -> Found:
    """How long the store took to answer."""
    yield "", timed(reading["checks"])


def latencies(condition: Condition, reading: Reading) -> Found:
    """How long answers took on each route."""
    for name, route in meant(reading["routes"], condition.route):
        yield name, timed(route["latency"])


def timed(histogram: Histogram) -> Sign:
    """A histogram as a sign."""
    return Sign(tuple(histogram["counts"]), bounds=histogram["bounds"])


def errors(condition: Condition, reading: Reading) -> Found:
    """How many answers on each route were a server's fault."""
    for name, route in meant(reading["routes"], condition.route):
        yield name, Sign((route["statuses"].get("5xx", 0), route["requests"]))


def funds(condition: Condition, reading: Reading) -> Found:
    """How many requests with a budget came to the end of it on their way."""
    budget = reading["budget"]
    if budget is not None:
        yield "", Sign((budget.get("broken", 0), budget.get("entered", 0)))


def restarts(condition: Condition, reading: Reading) -> Found:
    """How often workers were replaced."""
    yield "", Sign((sum(one["restarts"] for one in reading["workers"]),))


SIGNS = {
    "refused": outcomes, "near": outcomes, "shadowed": outcomes, "failed": outcomes,
    "queue": queues, "breaker": breakers, "degraded": stores, "checks": checks,
    "latency": latencies, "errors": errors, "funds": funds, "reload": reloads,
    "restarts": restarts,
}  # fmt: skip


def quantile(share: float, counts: Sequence[float], bounds: Sequence[float]) -> float:
    """The value that such a share of a histogram does not exceed, as Prometheus estimates it."""
    total = sum(counts)
    if not total:
        return 0.0
    rank, below = share * total, 0.0
    for place, count in enumerate(counts):
        if below + count >= rank and count:
            if place >= len(bounds):
                break
            start = bounds[place - 1] if place else 0.0
            return start + (bounds[place] - start) * (rank - below) / count
        below += count
    # Nobody knows how long those took that took longest.
    return bounds[-1] if bounds else 0.0
