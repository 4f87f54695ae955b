"""Survey: what one process has to tell of its rules, as a reading."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakKeyDictionary

from headgate.breakers.circuit import STATES
from headgate.measures import MILLION
from headgate.rules.live.ruling import Ruling
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.store import masked
from headgate.rules.model.table import spelled
from headgate.telemetry.counters import Counters
from headgate.telemetry.docket import Docket
from headgate.telemetry.meter import CHECKS, taken
from headgate.telemetry.reading import (
    BREAKERS,
    Reading,
    ReloadReading,
    RuleReading,
    StoreReading,
    TopReading,
    WorkerReading,
)
from headgate.telemetry.summits import Summits
from headgate.telemetry.union import counted, recount

# Whatever a breaker was forced into, it is one of the others.
FORCED = {"forced_open": "open", "forced_closed": "closed", "metrics_only": "closed"}


def survey(keeper: Any, serves: str, counters: Counters, docket: Docket) -> Reading:
    """What there is to know of a gatekeeper; the rest has its empty values.

    What is counted is the sum of all who count on the same board.
    """
    counters.attend()
    lodge, cells = keeper.lodge, counters.read()
    found = blank(keeper.rules, serves, lodge.clock.now())
    found["rules"] = rules(lodge)
    found["trial"] = None if lodge.trial is None else lodge.trial.told()
    recount(found, cells)
    found["store"] = store(lodge.url)
    watched(found["store"], lodge)
    found["top"] = tops(lodge, counters.summits)
    found["refusals"] = docket.latest()
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
        "checks": taken(CHECKS, ()),
        "store": store(rules.store),
        "upstreams": {},
        "budget": None,
        "top": {},
        "refusals": [],
        "reload": reloaded(version),
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


def watched(found: StoreReading, lodge: Any) -> None:
    """Say how the store is doing."""
    watch, hold = lodge.shelf.watch, lodge.shelf.hold()
    if watch is not None:
        found["degraded"] = watch.failing
        found["degraded_seconds"] = watch.dark(lodge.clock.now()) / MILLION
        found["errors"] = dict(watch.errors)
    if hold is not None:
        found["keys"], found["capacity"], found["evicted"] = hold


def tops(lodge: Any, summits: Summits) -> dict[str, TopReading]:
    """Who asks most by each of them, and who is refused most."""
    known = {one.name: one for each in reversed(lodge.lodges) for one in each.rulings}
    return summits.tell(known, lodge.clock.now())


def rule(ruling: Ruling) -> RuleReading:
    """What there is to know of one rule, and was counted here."""
    one = ruling.rule
    limit, inside, waiting = places(ruling)
    return {
        "mode": str(one.mode),
        "rollout": float(one.rollout),
        "key": ", ".join(one.key),
        "terms": said(ruling),
        **counted(ruling.tally.read()),  # type: ignore[typeddict-item]
        "limit": limit,
        "inside": inside,
        "waiting": waiting,
        "queue": 0 if ruling.crowd is None else ruling.crowd.waiting,
        "breaker": breaker(ruling),
    }


# The terms of rules in words, which stay the same as long as those are in force.
SAID: WeakKeyDictionary[Ruling, list[str]] = WeakKeyDictionary()


def said(ruling: Ruling) -> list[str]:
    """The terms of a rule; to spell them takes longer than all else that is told of it."""
    found = SAID.get(ruling)
    if found is None:
        found = SAID[ruling] = terms(ruling.rule)
    return found


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
    found = reloaded(keeper.version)
    found["loads"] = keeper.lodge.loads
    if keeper.watcher is not None:
        status = keeper.watcher.status
        found["at"], found["failures"] = status.loaded, status.failures
        found["problems"] = [str(problem) for problem in status.problems]
        found["result"] = "bad" if found["problems"] else "ok"
    return found


def reloaded(version: str) -> ReloadReading:
    """Rules that are in force from the beginning."""
    return {
        "version": version, "at": 0.0, "result": "ok", "problems": [], "loads": 0, "failures": 0,
    }  # fmt: skip


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
