"""Survey: what one process has to tell of its rules, as a reading."""

from __future__ import annotations

import os
from typing import Any

from headgate.breakers.circuit import STATES
from headgate.measures import MILLION
from headgate.rules.live.ruling import Ruling
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.store import masked
from headgate.rules.model.table import spelled
from headgate.telemetry.reading import (
    Histogram,
    Reading,
    ReloadReading,
    RuleReading,
    StoreReading,
    WorkerReading,
)

# The upper bounds of how long stores and answers took, in seconds.
CHECKS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
# The worst first.
BREAKERS = ("open", "half_open", "closed")
# Whatever it was forced into, it is one of these.
FORCED = {"forced_open": "open", "forced_closed": "closed", "metrics_only": "closed"}


def survey(keeper: Any, serves: str) -> Reading:
    """What there is to know of a gatekeeper; the rest has its empty values."""
    lodge = keeper.lodge
    found = blank(keeper.rules, serves, lodge.clock.now())
    found["rules"] = rules(lodge)
    found["store"] = store(lodge.url)
    found["reload"] = reload(keeper)
    found["workers"] = [worker()]
    return found


def blank(rules: Rules, serves: str, now: int) -> Reading:
    """A reading under these rules in which nothing is counted."""
    version = rules.digest
    return {
        "at": now / MILLION,
        "serves": serves,
        "version": version,
        "rules": {},
        "routes": {},
        "checks": histogram(CHECKS),
        "store": store(rules.store),
        "upstreams": {},
        "budget": None,
        "top": {},
        "refusals": [],
        "reload": {"version": version, "at": 0.0, "result": "ok", "problems": []},
        "trial": None,
        "alerts": [],
        "workers": [],
    }


def rules(lodge: Any) -> dict[str, RuleReading]:
    """Every rule in force, and of those at views that are joined to it."""
    found: dict[str, RuleReading] = {}
    for one in reversed(lodge.lodges):
        found |= {ruling.name: rule(ruling) for ruling in one.rulings}
    return found


def rule(ruling: Ruling) -> RuleReading:
    """What there is to know of one rule."""
    one, tally = ruling.rule, ruling.tally
    limit, inside, waiting = places(ruling)
    return {
        "mode": str(one.mode),
        "rollout": float(one.rollout),
        "key": ", ".join(one.key),
        "terms": terms(one),
        "allowed": tally.passed,
        "delayed": 0,
        "refused": tally.refused,
        "failed_open": 0,
        "failed_closed": 0,
        "shadowed": tally.shadowed,
        "near": 0,
        "units_allowed": 0,
        "units_refused": 0,
        "waited": 0.0,
        "sampled": 0,
        "wrong": 0,
        "limit": limit,
        "inside": inside,
        "waiting": waiting,
        "queue": 0 if ruling.crowd is None else ruling.crowd.waiting,
        "breaker": breaker(ruling),
    }


def terms(one: Rule) -> list[str]:
    """What a rule allows, in the words of a rule file."""
    said = spelled(one)
    limit = said.get("limit", [])
    found = [sentence(each) for each in (limit if isinstance(limit, list) else [limit])]
    if "concurrent" in said:
        found.append(f"concurrent {said['concurrent']}")
    if "bandwidth" in said:
        found.append(f"bandwidth {said['bandwidth']}")
    if one.adaptive is not None:
        found.append(f"adaptive {one.adaptive.by}")
    if one.breaker is not None:
        found.append(f"breaker {one.breaker.failures:g}")
    return [*found, "deny"] if one.deny is not None else found


def sentence(limit: Any) -> str:
    """One limit: its rate, and what else is said of it."""
    if not isinstance(limit, dict):
        return str(limit)
    more = [f"{word} {given}" for word, given in limit.items() if word not in ("rate", "by")]
    by = [str(limit["by"])] if "by" in limit else []
    return " ".join([str(limit["rate"]), *by, *more])


def places(ruling: Ruling) -> tuple[int | None, int, int]:
    """How many may be inside at once, how many are here, and how many wait; None where all may."""
    found = ruling.bulkheads()
    if not found:
        rule = ruling.rule
        return rule.concurrent or None, 0, 0
    limit = min(one.limit if one.adaptive is None else one.rooms[""].limit for one in found)
    rooms = [room for one in found for room in list(one.rooms.values())]
    return limit, sum(room.inside for room in rooms), sum(room.waiting for room in rooms)


def breaker(ruling: Ruling) -> str:
    """The worst state of a rule's breaker, whatever the key; empty if it has none."""
    found = ruling.breaker()
    if found is None:
        return ""
    states = [STATES[circuit.state] for circuit in list(found.circuits.values())]
    plain = {FORCED.get(state, state) for state in states}
    return next((state for state in BREAKERS if state in plain), "closed")


def store(url: str) -> StoreReading:
    """Where what was counted is kept."""
    scheme = url.removeprefix("leased+").partition(":")[0]
    return {
        "url": masked(url),
        "kind": "redis" if scheme.startswith(("redis", "valkey", "unix")) else scheme,
        "degraded": False,
        "degraded_seconds": 0.0,
        "errors": {},
        "keys": None,
        "capacity": None,
        "evicted": None,
    }


def reload(keeper: Any) -> ReloadReading:
    """How it stands with the rules in force."""
    watcher = keeper.watcher
    if watcher is None:
        return {"version": keeper.version, "at": 0.0, "result": "ok", "problems": []}
    status = watcher.status
    problems = [str(problem) for problem in status.problems]
    result = "bad" if problems else "ok"
    return {"version": keeper.version, "at": status.loaded, "result": result, "problems": problems}


def worker() -> WorkerReading:
    """This process."""
    return {
        "slot": 0,
        "pid": os.getpid(),
        "up": True,
        "start": 0.0,
        "restarts": 0,
        "connections": 0,
        "requests": 0,
    }


def histogram(bounds: tuple[float, ...]) -> Histogram:
    """A histogram in which nothing is counted."""
    return {"bounds": [*bounds], "counts": [0] * (len(bounds) + 1), "sum": 0.0}
