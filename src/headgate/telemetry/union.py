"""Union: the readings of several processes as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headgate.measures import MILLION
from headgate.rules.live.tally import NAMES
from headgate.rules.live.trial import TITLE
from headgate.telemetry.counters import ROUTE, RULE, STORE
from headgate.telemetry.meter import ANSWERS, CHECKS, statuses, taken
from headgate.telemetry.reading import (
    BREAKERS,
    HeavyReading,
    Histogram,
    Reading,
    ReloadReading,
    RouteReading,
    RuleReading,
    StoreReading,
    TopReading,
    TrialReading,
)

# Numbers of a rule that add up.
SUMS = (
    "allowed", "delayed", "refused", "failed_open", "failed_closed", "shadowed", "near",
    "units_allowed", "units_refused", "waited", "sampled", "wrong", "inside", "waiting", "queue",
)  # fmt: skip
# The worst first.
RESULTS = ("bad", "unread")
# How many heavy hitters and how many refusals are told.
FEW, LATEST = 20, 50


def union(readings: Sequence[Reading]) -> Reading:
    """All of them as one: what they counted adds up; there is at least one."""
    latest = max(readings, key=lambda one: one["at"])
    refusals = [one for each in readings for one in each["refusals"]]
    upstreams: dict[str, Any] = together([one["upstreams"] for one in readings])
    budgets = [one["budget"] for one in readings if one["budget"] is not None]
    return {
        "at": latest["at"],
        "serves": latest["serves"],
        "version": ", ".join(sorted({one["version"] for one in readings})),
        "rules": rules(readings),
        "routes": routes(readings),
        "checks": histogram([one["checks"] for one in readings]),
        "store": store([one["store"] for one in readings]),
        "upstreams": upstreams,
        "budget": together(budgets) if budgets else None,
        "top": tops(readings),
        "refusals": sorted(refusals, key=lambda one: one["time"], reverse=True)[:LATEST],
        "reload": reload([one["reload"] for one in readings]),
        "trial": trial([one["trial"] for one in readings if one["trial"] is not None]),
        "alerts": [one for each in readings for one in each["alerts"]],
        "workers": [one for each in readings for one in each["workers"]],
    }


def recount(reading: Reading, cells: Mapping[str, Sequence[int]]) -> None:
    """Say what is counted on a board, also by those that have ended, whatever was said of it."""
    for name, one in reading["rules"].items():
        if RULE + name in cells:
            one.update(counted(cells[RULE + name]))  # type: ignore[typeddict-item]
    trial = reading["trial"]
    found = None if trial is None else cells.get(f"{RULE}{TITLE}{round(trial['since'] * MILLION)}")
    if trial is not None and found is not None:
        told = counted(found)
        passed = told["allowed"] + told["delayed"] + told["failed_open"]
        trial["shadowed"], trial["allowed"] = told["shadowed"], passed - told["shadowed"]
    reading["routes"] |= measured(cells)
    if STORE in cells:
        reading["checks"] = taken(CHECKS, cells[STORE])


def counted(cells: Sequence[int]) -> dict[str, Any]:
    """What was counted of a rule, as a reading has it."""
    found = dict(zip(NAMES, cells, strict=True))
    return {**found, "waited": found["waited"] / MILLION}


def measured(cells: Mapping[str, Sequence[int]]) -> dict[str, RouteReading]:
    """What was asked by every route, or in every protocol, if anything was."""
    return {
        name.removeprefix(ROUTE): {
            "requests": found[0],
            "statuses": statuses(found),
            "latency": taken(ANSWERS, found),
        }
        for name, found in cells.items()
        if name.startswith(ROUTE) and (found[0] or name != ROUTE)
    }


def rules(readings: Sequence[Reading]) -> dict[str, RuleReading]:
    """Every rule that one of them has."""
    found = {}
    for name in names(one["rules"] for one in readings):
        several = [one for one in readings if name in one["rules"]]
        found[name] = rule([one["rules"][name] for one in several], several[0]["store"]["kind"])
    return found


def rule(several: Sequence[Any], kind: str) -> RuleReading:
    """One rule, as several processes see it; `kind` is that of their store."""
    merged: Any = dict(several[0])
    for word in SUMS:
        merged[word] = sum(one[word] for one in several)
    limits = [one["limit"] for one in several if one["limit"] is not None]
    # In memory each has places of its own, and one that finds itself is always each one's own.
    own = kind == "memory" or any(one.startswith("adaptive ") for one in merged["terms"])
    merged["limit"] = (sum(limits) if own else max(limits)) if limits else None
    states = {one["breaker"] for one in several}
    merged["breaker"] = next((state for state in BREAKERS if state in states), "")
    found: RuleReading = merged
    return found


def routes(readings: Sequence[Reading]) -> dict[str, RouteReading]:
    """Every route that one of them has."""
    found: dict[str, RouteReading] = {}
    for name in names(one["routes"] for one in readings):
        several = [one["routes"][name] for one in readings if name in one["routes"]]
        found[name] = {
            "requests": sum(one["requests"] for one in several),
            "statuses": together([one["statuses"] for one in several]),
            "latency": histogram([one["latency"] for one in several]),
        }
    return found


def histogram(several: Sequence[Histogram]) -> Histogram:
    """The sum of histograms with the same bounds."""
    counts = zip(*(one["counts"] for one in several), strict=True)
    return {
        "bounds": several[0]["bounds"],
        "counts": [sum(each) for each in counts],
        "sum": sum(one["sum"] for one in several),
    }


def store(several: Sequence[Any]) -> StoreReading:
    """Where they count: what they share is seen by each of them, and what each has adds up."""
    own = several[0]["kind"] == "memory"
    merged: Any = dict(several[0])
    merged["degraded"] = any(one["degraded"] for one in several)
    merged["degraded_seconds"] = sum(one["degraded_seconds"] for one in several)
    merged["errors"] = together([one["errors"] for one in several])
    for word in ("keys", "capacity", "evicted"):
        known = [one[word] for one in several if one[word] is not None]
        merged[word] = (sum(known) if own else max(known)) if known else None
    found: StoreReading = merged
    return found


def tops(readings: Sequence[Reading]) -> dict[str, TopReading]:
    """Who asked most of all of them."""
    found: dict[str, TopReading] = {}
    for name in names(one["top"] for one in readings):
        several = [one["top"][name] for one in readings if name in one["top"]]
        found[name] = {
            "span": max(one["span"] for one in several),
            "total": sum(one["total"] for one in several),
            "asked": heaviest([one["asked"] for one in several], "asked"),
            "refused": heaviest([one["refused"] for one in several], "refused"),
        }
    return found


def heaviest(lists: Sequence[Sequence[Any]], word: str) -> list[HeavyReading]:
    """The heaviest of several lists."""
    found: dict[str, Any] = {}
    for one in (one for each in lists for one in each):
        known = found.setdefault(one["key"], {**one, "asked": 0, "refused": 0, "error": 0})
        for number in ("asked", "refused", "error"):
            known[number] += one[number]
    return sorted(found.values(), key=lambda one: (-one[word], one["key"]))[:FEW]


def reload(several: Sequence[ReloadReading]) -> ReloadReading:
    """The newest rules that any of them took, and whatever is wrong."""
    newest = max(several, key=lambda one: one["at"])
    problems = dict.fromkeys(problem for one in several for problem in one["problems"])
    results = {one["result"] for one in several}
    result = next((word for word in RESULTS if word in results), "ok")
    # All of them read the same rules.
    loads = max(one["loads"] for one in several)
    failures = max(one["failures"] for one in several)
    return {
        **newest, "result": result, "problems": [*problems], "loads": loads, "failures": failures,
    }  # fmt: skip


def trial(several: Sequence[TrialReading]) -> TrialReading | None:
    """The rule that all of them try; who still tries an older one does not count."""
    if not several:
        return None
    since = max(one["since"] for one in several)
    same = [one for one in several if one["since"] == since]
    keys: dict[str, int] = {}
    for cut in (cut for one in same for cut in one["keys"]):
        keys[cut["key"]] = keys.get(cut["key"], 0) + cut["shadowed"]
    most = sorted(keys.items(), key=lambda one: (-one[1], one[0]))[:FEW]
    return {
        **same[0],
        "allowed": sum(one["allowed"] for one in same),
        "shadowed": sum(one["shadowed"] for one in same),
        "keys": [{"key": key, "shadowed": count} for key, count in most],
    }


def together(values: Sequence[Any]) -> Any:
    """Several answers to one question as one: numbers add up, and words stand side by side."""
    if all(isinstance(value, dict) for value in values):
        words = names(values)
        return {
            word: together([value[word] for value in values if word in value]) for word in words
        }
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(isinstance(value, (int, float)) for value in values):
        return sum(values)
    return ", ".join(sorted({str(value) for value in values}))


def names(several: Iterable[Any]) -> list[str]:
    """The words that stand in any of them, each once."""
    return [*dict.fromkeys(word for one in several for word in one)]
