"""Words: what a reading says, in few, and with nothing in it that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headgate.cli.trouble import harmless

# From nothing to most: in eighths of a line, or in letters where the terminal knows no others.
STEPS, PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
UNITS = ((1e9, "G"), (1e6, "M"), (1e4, "k"))


def spark(numbers: Iterable[float], width: int, steps: str = STEPS) -> str:
    """The last `width` numbers as a line of little bars, the highest of them whole."""
    last = [*numbers][-width:]
    most = max(last, default=0.0)
    if most <= 0.0:
        return (steps[0] * len(last)).rjust(width)
    top = len(steps) - 1
    bars = (steps[0 if one <= 0 else max(1, round(one / most * top))] for one in last)
    return "".join(bars).rjust(width)


def short(number: float) -> str:
    """A number in at most six signs."""
    for size, unit in UNITS:
        if number >= size:
            scaled = number / (1e3 if unit == "k" else size)
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.1f}{unit}"
    return f"{number:.0f}"


def paced(number: float) -> str:
    """How many a second."""
    return short(number) if number >= 1000 else f"{number:.1f}"


def headline(reading: Any) -> list[str]:
    """Who is asked, and how it does, a few words each."""
    workers = reading["workers"]
    up = sum(1 for one in workers if one["up"])
    said = [
        f"headgate {reading['serves']}",
        f"rules {reading['version'][:12]}",
        "1 worker" if up == len(workers) == 1 else f"{up} of {len(workers)} workers",
        kept(reading["store"]),
    ]
    restarts = sum(one["restarts"] for one in workers)
    said += [f"{restarts} restarts"] if restarts else []
    connections = sum(one["connections"] for one in workers)
    said += [f"{connections} connections"] if connections else []
    return [harmless(word) for word in said]


def kept(store: Any) -> str:
    """Where it counts, and whether that can be asked."""
    full = ""
    if store["keys"] is not None and store["capacity"]:
        full = f" {store['keys'] / store['capacity']:.0%} full"
    return f"{store['url']}{' DEGRADED' if store['degraded'] else full}"


def troubles(reading: Any) -> Iterator[str]:
    """What somebody should look at, the worst first."""
    store = reading["store"]
    if store["degraded"]:
        yield f"the store cannot be asked, for {store['degraded_seconds']:.0f} s in all"
    for alert in reading["alerts"]:
        if alert["level"] != "ok":
            rule = f" by {alert['rule']}" if alert["rule"] else ""
            value, threshold = alert["value"], alert["threshold"]
            yield harmless(f"{alert['name']}: {alert['kind']}{rule}, {value:g} above {threshold:g}")
    for problem in reading["reload"]["problems"][:1]:
        yield harmless(f"new rules are bad, the old ones go on: {problem}")
    for name, one in reading["rules"].items():
        if one["breaker"] == "open":
            yield harmless(f"the breaker of {name} is open")


def place(rule: Any) -> str:
    """Who is inside, and who waits, where that is bounded."""
    if rule["limit"] is None:
        return ""
    waits = rule["waiting"] + rule["queue"]
    return f"{rule['inside']}/{rule['limit']}{f' +{waits}' if waits else ''}"


def does(rule: Any) -> str:
    """What a rule allows, and whether it means it."""
    terms = ", ".join(rule["terms"])
    if rule["mode"] == "shadow":
        return harmless(f"shadow: {terms}")
    if rule["rollout"] < 100:
        return harmless(f"{rule['rollout']:g}%: {terms}")
    return harmless(terms)


def heavies(reading: Any, most: int) -> list[tuple[str, str, int, int]]:
    """Who was refused most, and if nobody was, who asked most: rule, key, asked, refused."""
    found = []
    for word in ("refused", "asked"):
        for name, top in reading["top"].items():
            for one in top[word]:
                row = (harmless(name), harmless(one["key"]), one["asked"], one["refused"])
                if row not in found and (word == "asked" or one["refused"]):
                    found.append(row)
    found.sort(key=lambda row: (-row[3], -row[2]))
    return found[:most]


def refusals(reading: Any, most: int) -> list[str]:
    """The latest refusals, a line each."""
    return [harmless(" ".join(refusal(one))) for one in reading["refusals"][:most]]


def refusal(one: Any) -> Sequence[str]:
    """When, with what, by which rule, and who asked for what."""
    time = one["time"][11:19] or one["time"]
    status = "shadow" if one["shadow"] else str(one["status"])
    asked = [word for word in (one["method"], f"{one['host']}{one['path']}") if word]
    whom = [f"from {one['client']}"] if one["client"] else []
    key = [f"({one['key']})"] if one["key"] and one["key"] != one["client"] else []
    return [time, f"{status:<6}", one["rule"], *asked, *whom, *key]
