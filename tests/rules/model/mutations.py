"""Ways to break a good rule file: each with where it breaks, and what its message must hint at."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from headgate.rules.model.alerts import Alerts, Notify, Webhook
from headgate.rules.model.allowance import Allowance
from headgate.rules.model.bounds import Bounds, Patience, Timeouts
from headgate.rules.model.budget import Budget
from headgate.rules.model.callers import CallerTerms
from headgate.rules.model.charge import Cost, Counts
from headgate.rules.model.condition import Condition
from headgate.rules.model.gates import Adaptive, Break, Deny
from headgate.rules.model.gateway import Audit, Gateway
from headgate.rules.model.listen import Admin, Listen, Tls
from headgate.rules.model.over import Degrade, Redirect, Reject, Wait
from headgate.rules.model.port import Port
from headgate.rules.model.route import Rewrite, Route
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Capacity, RateLimit, Service, Waits
from headgate.rules.model.terms import Terms
from headgate.rules.model.trust import Trust
from headgate.rules.model.upstream import Assurance, Health, Retries, Upstream
from tests.rules.model.forms import Path, Raw
from tests.rules.model.impossible import (
    AROUND,
    ASKING,
    FITTING,
    FORWARDING,
    LIMITS,
    STRAYS,
    WATCHING,
)
from tests.rules.model.rich import RICH

TABLES = (
    Rules, Trust, Rule, Allowance, Cost, Counts, Reject, Wait, Degrade, Redirect, Deny, Adaptive,
    Break, Terms, Budget, Gateway, Listen, Tls, Admin, Bounds, Timeouts, Patience, Upstream, Health,
    Retries, Assurance, Route, Rewrite, Audit, Service, Port, Capacity, Waits, RateLimit,
    CallerTerms, Alerts, Condition, Notify, Webhook,
)  # fmt: skip

# What stands in the place of every value, in turn.
WRONG: dict[str, Any] = {
    "null": None,
    "empty text": "",
    "empty list": [],
    "empty mapping": {},
    "number": 7,
    "fraction": 1.5,
    "text": "no such thing!",
    "true": True,
    "list": [["x"], None],
    "mapping": {"zzz": 1},
    "huge": Raw(f"1{'0' * 400}"),
    "large": 10**30,
    "negative": -1,
    "nan": float("nan"),
    "zero": 0,
}

# Where one of these is right after all, by the last steps of the way to it, and why.
VALID: dict[tuple[str, ...], tuple[set[str], str]] = {
    ("rules", "*", "description"): ({"text"}, "a sentence may be any"),
    ("deny", "body"): ({"text"}, "a body may be any"),
    ("degrade", "body"): ({"text"}, "a body may be any"),
    ("degrade", "headers", "*"): ({"text"}, "a header may say anything that can be sent"),
    ("degrade", "headers"): ({"empty mapping"}, "an answer may have no headers"),
    ("match", "header.x-beta"): (
        {"empty text", "text", "number", "large", "true", "zero", "negative"},
        "a header may be any word or whole number, or absent",
    ),
    ("match", "query.page"): (
        {"empty text", "text", "number", "large", "true", "zero", "negative"},
        "an argument may be any word or whole number, or absent",
    ),
    ("match", "cookie.seen"): (
        {"empty text", "text", "number", "large", "true", "zero", "negative"},
        "a cookie may be any word or whole number, or absent",
    ),
    ("match", "host"): (
        {"empty text", "text", "number", "large", "true", "zero", "negative"},
        "a host may be called anything, or be absent",
    ),
    ("paid", "api", "limit", "*", "burst"): ({"number"}, "7 fits"),
    ("over", "wait"): ({"number", "fraction"}, "a number of seconds"),
    ("limit", "*", "initial"): ({"number", "zero"}, "from nothing up to all of the burst"),
    ("limit", "*", "borrow"): ({"true"}, "it is true"),
    ("limit", "penalty"): ({"zero"}, "a refusal may cost nothing"),
    ("limit", "*", "period"): ({"number", "fraction"}, "a number of seconds"),
    ("wait", "timeout"): ({"number", "fraction"}, "a number of seconds"),
    ("degrade", "stale"): ({"number", "fraction", "zero"}, "a number of seconds"),
    ("adaptive", "probe_every"): ({"number", "fraction"}, "a number of seconds"),
    ("adaptive", "window"): ({"number", "fraction"}, "a number of seconds"),
    ("adaptive", "cool"): ({"number", "fraction", "zero"}, "a number of seconds"),
    ("adaptive", "floor"): ({"number"}, "7 is less than the ceiling"),
    ("adaptive", "ceiling"): ({"number"}, "7 is more than the floor"),
    ("adaptive", "initial"): ({"number"}, "7 is between the bounds"),
    ("breaker", "window"): ({"number", "fraction"}, "a number of seconds"),
    ("breaker", "slow_after"): ({"number", "fraction"}, "a number of seconds"),
    ("breaker", "pause"): ({"number", "fraction"}, "a number of seconds"),
    ("breaker", "longest"): ({"number", "fraction"}, "a number of seconds"),
    ("breaker", "calls"): ({"number"}, "7 calls are enough to judge"),
    ("breaker", "probes"): ({"number"}, "7 probes are some"),
    ("breaker",): ({"true", "empty mapping"}, "a breaker as usual"),
    ("deny",): ({"true", "empty mapping"}, "denied as usual"),
    ("rules", "*", "headers"): ({"true"}, "headers tell of it"),
    ("over", "reject"): ({"empty mapping"}, "rejected as usual"),
    ("over", "degrade"): ({"empty mapping"}, "degraded to nothing at all, which is warned of"),
    ("wait", "queue"): ({"number", "zero"}, "nobody need be able to wait"),
    ("cost", "*", "units"): ({"number", "zero"}, "a request may be free"),
    ("cost", "2"): ({"number", "zero"}, "a request may be free"),
    ("cost", "1"): ({"number", "zero"}, "a cost may be a number"),
    ("cost", "0"): ({"number", "zero"}, "a cost may be a number"),
    ("cost",): ({"number", "zero"}, "a cost may be a number"),
    ("cost", "*", "per"): ({"number"}, "a number of units may be one"),
    ("cost", "*", "most"): ({"number"}, "7 is some"),
    ("rules", "*", "concurrent"): ({"number"}, "7 at once"),
    ("plans", "free", "five"): ({"number"}, "7 at once"),
    ("plans", "paid", "five"): ({"number"}, "7 at once"),
    ("five", "concurrent"): ({"number"}, "7 at once"),
    ("rules", "*", "rollout"): ({"number", "fraction", "zero"}, "so many percent"),
    ("rules", "*", "overrides"): ({"empty mapping"}, "no key need be overridden"),
    ("client", "ipv4"): ({"number"}, "7 bits are some"),
    ("client", "ipv6"): ({"number"}, "7 bits are some"),
    ("client", "trusted_hops"): ({"number", "zero"}, "7 proxies, or none"),
    ("client",): ({"empty mapping"}, "believe nobody, as usual"),
    ("plans",): ({"empty mapping"}, "there need be no plans"),
    ("plans", "*"): ({"empty mapping"}, "a plan may change nothing, which is warned of"),
    ("budget", "grant"): ({"number"}, "7 units"),
    ("budget", "most"): ({"number", "zero"}, "7 units, or what is granted"),
    ("budget", "plans"): ({"empty mapping", "mapping"}, "no plans, or one of any name"),
    ("budget", "plans", "free"): ({"number"}, "7 units"),
    ("budget", "plans", "vip"): ({"number"}, "7 units"),
    ("budget", "ttl"): ({"number", "fraction"}, "a number of seconds"),
    ("budget", "skew"): ({"number", "fraction", "zero"}, "a number of seconds"),
    ("gateway",): ({"empty mapping"}, "a gateway may do nothing"),
    ("gateway", "routes"): ({"empty list"}, "a gateway may forward nothing"),
    ("gateway", "workers"): ({"number"}, "7 workers"),
    ("service",): ({"empty mapping"}, "a service as usual"),
    ("service", "workers"): ({"number"}, "7 workers"),
    ("service", "limits"): ({"empty mapping"}, "capacity as usual"),
    ("service", "ratelimit"): ({"empty mapping", "text"}, "answers as usual, or a file"),
    ("limits", "sets"): ({"number"}, "7 sets of limits"),
    ("ratelimit", "files"): ({"text"}, "a file may be called anything"),
    ("ratelimit", "files", "*"): ({"text"}, "a file may be called anything"),
    ("ratelimit", "headers"): ({"true"}, "it is true"),
    ("ratelimit", "metadata"): ({"true"}, "it is true"),
    ("ratelimit", "shadow"): ({"true"}, "it is true"),
    ("service", "secret"): ({"empty text"}, "one is made"),
    ("gateway", "audit"): ({"empty mapping"}, "lines as usual"),
    ("audit", "file"): ({"text"}, "a file may be called anything"),
    ("admin", "token"): ({"empty text"}, "one is made"),
    ("listen", "0", "proxy_protocol"): ({"true"}, "it is true"),
    ("listen", "0", "tls", "*"): ({"text"}, "a file may be called anything"),
    ("gateway", "limits"): ({"empty mapping"}, "bounds as usual"),
    ("limits", "lines"): ({"number"}, "7 headers"),
    ("limits", "connections"): ({"number"}, "7 clients"),
    ("gateway", "limits", "body"): ({"number", "zero"}, "7 bytes, or any length"),
    ("limits", "per_client"): ({"number", "zero"}, "7 connections, or any number"),
    ("limits", "requests"): ({"number", "zero"}, "7 requests, or any number"),
    ("timeouts",): ({"empty mapping"}, "waits as usual"),
    ("timeouts", "stall"): ({"number", "fraction", "zero"}, "some seconds, or any time"),
    ("timeouts", "total"): ({"number", "fraction", "zero"}, "some seconds, or any time"),
    ("timeouts", "drain"): ({"number", "fraction", "zero"}, "some seconds, or none"),
    ("timeouts", "*"): ({"number", "fraction"}, "a number of seconds"),
    ("shop", "connections"): ({"number", "zero"}, "7 connections, or any number"),
    ("shop", "idle"): ({"number", "fraction", "zero"}, "some seconds, or none"),
    ("shop", "tls"): ({"empty mapping"}, "sure as usual"),
    ("shop", "tls", "ca"): ({"text"}, "a file may be called anything"),
    ("shop", "tls", "verify"): ({"true"}, "it is true"),
    ("health", "every"): ({"number", "fraction"}, "a number of seconds"),
    ("health", "timeout"): ({"number", "fraction"}, "a number of seconds"),
    ("health", "up"): ({"number"}, "7 good answers"),
    ("health", "down"): ({"number"}, "7 bad answers"),
    ("retries",): ({"number", "zero", "empty mapping"}, "7 times, or none, or as usual"),
    ("retries", "most"): ({"number", "zero"}, "7 times, or none"),
    ("retries", "budget"): ({"number", "fraction"}, "so many percent"),
    ("routes", "*", "upgrade"): ({"true"}, "it is true"),
    ("routes", "*", "budget"): ({"true"}, "it is true"),
    ("alerts",): ({"empty list", "empty mapping"}, "nothing, or what is usual, and a line for it"),
    ("alerts", "conditions"): ({"empty list"}, "nothing need be told"),
    ("alerts", "notify"): ({"empty mapping"}, "told as usual"),
    ("conditions", "0", "window"): ({"number", "fraction"}, "a number of seconds"),
    ("conditions", "0", "least"): ({"number"}, "7 requests"),
    ("conditions", "0", "after"): ({"number", "fraction", "zero"}, "a number of seconds"),
    ("conditions", "0", "calm"): ({"number", "fraction", "zero"}, "a number of seconds"),
    ("conditions", "1", "route"): ({"text"}, "a route may be called anything"),
    ("conditions", "1", "route", "*"): ({"text"}, "a route may be called anything"),
    ("conditions", "1", "above"): ({"number", "fraction"}, "a number of seconds"),
    ("conditions", "2", "below"): ({"number", "fraction"}, "7 is some"),
}

# Where a mutation breaks something else than itself.
ELSEWHERE: dict[tuple[Path, str], tuple[Path, bool]] = {
    (("service", "callers"), "empty mapping"): (("service", "listen", 0, "caller"), False),
    (("rules",), "empty list"): (("plans", "free", "api"), True),
    (("alerts", "conditions", 2, "above"), "number"): (("alerts", "conditions", 2, "below"), False),
    (("alerts", "conditions", 2, "above"), "fraction"): (
        ("alerts", "conditions", 2, "below"),
        False,
    ),
    (("rules", 2, "limit", 0, "burst"), "number"): (("rules", 2, "limit", 0, "initial"), False),
    (("gateway", "upstreams"), "empty mapping"): (("gateway", "routes", 0, "upstream"), False),
}
# Where several things are missing at once.
WIDE: tuple[Path, ...] = (
    ("rules",),
    ("budget",),
    ("gateway", "listen", 0, "tls"),
    ("service", "listen", 0, "tls"),
    *(("alerts", "conditions", number) for number in range(4)),
)

# Where names are anybody's: plans, keys that are overridden, headers that are sent, and upstreams.
FREE = (
    ("plans",), ("overrides",), ("degrade", "headers"), ("gateway", "upstreams"),
    ("service", "callers"),
)  # fmt: skip
# What has to be there.
REQUIRED = {(cls, one.name) for cls in TABLES for one in fields(cls) if one.default is MISSING}


class Broken(NamedTuple):
    """A file that is broken in one place, and what is expected to be said of it.

    `at` leads to what is wrong; `key` is whether its name is, `below` whether it may also be
    something inside. `hint` stands in the message. `good` is why it is not broken after all.
    """

    kind: str
    label: str
    data: Any
    at: Path
    key: bool = False
    below: bool = False
    hint: str = ""
    twice: Path | None = None
    good: str = ""


def nodes(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a file but the whole, with the way to it."""
    entries: Any = ()
    if isinstance(data, dict):
        entries = data.items()
    elif isinstance(data, list):
        entries = enumerate(data)
    for step, one in entries:
        yield (*path, step), one
        yield from nodes(one, (*path, step))


# What is said of a gateway and what is said of rules do not know of each other. So a file that is
# broken in one of them is the half of the rich one, and is read in half the time.
GATEWAY = {name: RICH[name] for name in ("version", "gateway")}
REST = {name: value for name, value in RICH.items() if name != "gateway"}
# Rules that have nothing but their names, for sections that refer to rules.
STUBS = [{"name": rule["name"], "concurrent": 1} for rule in RICH["rules"]]
REFERRING = ("alerts", "service")
# The fields of a gateway that refer to one another, and to none of the others.
FORWARDING_FIELDS = ("upstreams", "routes")


def half(path: Path) -> dict[str, Any]:
    """Return the half of the rich file that contains a path."""
    return GATEWAY if path[0] == "gateway" else REST


def section(path: Path) -> dict[str, Any]:
    """Return a part of the rich file that is valid and contains a path.

    Reading a file takes time proportional to its size, and the sweep reads thousands: a rule is
    read after stubs of those before it, a gateway without the fields that do not refer to the
    path, and any other section with the rules that it refers to.
    """
    first = path[0]
    if first == "gateway" and len(path) > 1:
        forwarding = path[1] in FORWARDING_FIELDS
        gateway = RICH["gateway"]
        kept = [name for name in gateway if (name in FORWARDING_FIELDS) == forwarding]
        return {"version": 1, "gateway": {name: gateway[name] for name in kept}}
    if first == "rules" and len(path) > 1:
        number = int(path[1])
        return {"version": 1, "rules": [*STUBS[:number], RICH["rules"][number]]}
    if first in ("plans", "rules"):
        return {name: RICH[name] for name in ("version", "plans", "rules")}
    data = {"version": 1, first: RICH[first]}
    return data | {"rules": STUBS} if first in REFERRING else data


def replaced(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of data with another value at a path; it shares all that is beside the path."""
    changed = copy.copy(data)
    step, *further = path
    changed[step] = replaced(changed[step], tuple(further), value) if further else value
    return changed


def removed(data: Any, path: Path) -> Any:
    """Return a copy of data without the entry at a path."""
    *above, name = path
    holder = data
    for step in above:
        holder = holder[step]
    rest = {key: value for key, value in holder.items() if key != name}
    return replaced(data, tuple(above), rest) if above else rest


def valid(path: Path, label: str) -> str:
    """Why a mutation leaves the file good, or the empty string."""
    steps = tuple(str(step) for step in path)
    for ending, (labels, why) in VALID.items():
        # Most entries are told apart by their last step or by their labels.
        if ending[-1] not in ("*", steps[-1]) or label not in labels:
            continue
        # Those of a budget are numbers.
        if steps[:2] == ("budget", "plans") and ending[0] == "plans":
            continue
        tail = steps[-len(ending) :]
        if len(tail) == len(ending) and all(
            wanted in ("*", step) for wanted, step in zip(ending, tail, strict=True)
        ):  # fmt: skip
            return why
    return ""


def mistaken(kind: str) -> Iterator[Broken]:
    """Every value replaced by one wrong one."""
    value = WRONG[kind]
    for path, _ in nodes(RICH):
        below = (isinstance(value, (list, dict)) and bool(value)) or path in WIDE
        at, key = ELSEWHERE.get((path, kind), (path, False))
        data, label = replaced(section(path), path, value), f"{kind} at {path}"
        yield Broken(kind, label, data, at, key, below, good=valid(path, kind))


def misspelled() -> Iterator[Broken]:
    """Every name with a neighbour that is almost called like it."""
    for path, _ in nodes(RICH):
        *above, name = path
        free = any(tuple(above[-len(way) :]) == way for way in FREE)
        for typo in [] if free or not isinstance(name, str) else typos(name):
            at = (*above, typo)
            data = replaced(section(path), at, 1)
            yield Broken("misspelled", str(at), data, at, key=True, hint=f" {meant(typo, name)}")


def typos(name: str) -> list[str]:
    """The name with a letter more, one less, two exchanged, and a capital."""
    if "." in name:
        family, _, rest = name.partition(".")
        return [f"{typo}.{rest}" for typo in typos(family)]
    found = [name + name[-1], f"{name}_" if len(name) < 4 else name[:-2] + name[-1]]
    found += [name[:-2] + name[-1] + name[-2]] if len(name) > 4 else [f"{name}x"]
    return [typo for typo in dict.fromkeys([*found, name.capitalize()]) if typo != name]


def meant(typo: str, name: str) -> str:
    """The name that is meant, or another that is as near."""
    return {"plasn": "plan"}.get(typo, name)


def absent() -> Iterator[Broken]:
    """Every field that has to be there, taken away."""
    known = {name for _, name in REQUIRED} | {"version"}
    for path, _ in nodes(RICH):
        name = path[-1]
        if name not in known or not needed(path):
            continue
        data = removed(section(path), path)
        yield Broken("absent", f"no {path}", data, path[:-1], hint=f'lacks "{name}"')


def needed(path: Path) -> bool:
    """Whether a field of a name that others have too is one that has to be there."""
    above = str(path[-2]) if len(path) > 1 else ""
    holders = {
        "version": ("",), "name": ("*",), "rate": ("limit", "*"), "timeout": ("wait",),
        "to": ("redirect",), "by": ("adaptive",), "status": ("counts",), "listen": ("admin",),
        "certificate": ("tls",), "token": ("envoy", "shop"), "key": ("tls",), "path": ("health",),
        "servers": ("shop",), "limit": ("budget",), "grant": ("budget",), "keys": ("budget",),
        "url": ("1",), "when": ("0", "1", "2", "3") if path[0] == "alerts" else (),
    }  # fmt: skip
    name = str(path[-1])
    if name == "name":
        return len(path) == 3 or path[:2] == ("alerts", "conditions")
    listed = name in ("rate", "address", "upstream") and above.isdigit()
    return above in holders.get(name, ()) or listed


def doubled() -> Iterator[Broken]:
    """Every entry written twice."""
    for path, _ in nodes(RICH):
        if isinstance(path[-1], str):
            hint = f'"{path[-1]}" stands twice'
            yield Broken("doubled", str(path), section(path), path, key=True, hint=hint, twice=path)


def impossible() -> Iterator[Broken]:
    """What is well spelled and still cannot be, alone or beside the rest."""
    rows = [*LIMITS, *FITTING, *ASKING, *AROUND, *FORWARDING, *WATCHING, *STRAYS]
    for at, value, where, hint in rows:
        key = (at, value, where, hint) in STRAYS
        # A problem elsewhere than the change needs both places.
        part = section(at) if at[:2] == where[:2] else half(at)
        data, label = replaced(part, at, value), f"{value!r} at {at}"
        yield Broken("impossible", label, data, where, key, below=not key, hint=hint)
