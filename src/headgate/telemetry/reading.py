"""Reading: what there is to see at a moment, as plain data that JSON can tell.

Numbers of requests only ever grow; what is so at the moment, such as who is inside, comes and goes.
A field that does not apply is there with its empty value. Keys, paths and hosts were written by
strangers: whoever shows them anywhere sees to it that they stay text.
"""

from __future__ import annotations

from typing import Any, TypedDict

# What a breaker can be, whatever it was forced into; the worst first.
BREAKERS = ("open", "half_open", "closed")


class RuleReading(TypedDict):
    """One rule. Each request it had a say in counts once among the first five numbers.

    `near` are those that found more than 80 % of a limit used. Of `sampled` refusals an exact log
    would have let `wrong` in. `limit` is how many may be inside, over all processes.
    """

    mode: str
    rollout: float
    key: str
    terms: list[str]
    allowed: int
    delayed: int
    refused: int
    failed_open: int
    failed_closed: int
    shadowed: int
    near: int
    units_allowed: int
    units_refused: int
    waited: float
    sampled: int
    wrong: int
    limit: int | None
    inside: int
    waiting: int
    queue: int
    breaker: str


class Histogram(TypedDict):
    """How often something took how long: `counts` has one more than there are `bounds`."""

    bounds: list[float]
    counts: list[int]
    sum: float


class RouteReading(TypedDict):
    """What was asked by one route of a gateway, or in one protocol of a service."""

    requests: int
    statuses: dict[str, int]
    latency: Histogram


class StoreReading(TypedDict):
    """Where what was counted is kept, and how that is doing."""

    url: str
    kind: str
    degraded: bool
    degraded_seconds: float
    errors: dict[str, int]
    keys: int | None
    capacity: int | None
    evicted: int | None


class HeavyReading(TypedDict):
    """A key, how often it asked and was refused, and by how much that may be too much."""

    key: str
    asked: int
    refused: int
    error: int


class TopReading(TypedDict):
    """Who asked most by one rule in the last `span` seconds, and who was refused most."""

    span: float
    total: int
    asked: list[HeavyReading]
    refused: list[HeavyReading]


class RefusalReading(TypedDict):
    """One request that was refused, or would have been."""

    time: str
    decision: str
    rule: str
    kind: str
    status: int
    client: str
    method: str
    host: str
    path: str
    key: str
    reason: str
    remaining: int
    retry_after: float
    shadow: bool


class ReloadReading(TypedDict):
    """Which rules came into force when, and what is wrong with newer ones: `bad`, or `unread`.

    `loads` is how often others came into force, `failures` how often they could not.
    """

    version: str
    at: float
    result: str
    problems: list[str]
    loads: int
    failures: int


class CutReading(TypedDict):
    """A key that a rule on trial would have refused, and how often."""

    key: str
    shadowed: int


class TrialReading(TypedDict):
    """A rule that is tried out beside those in force, and what it would have done so far, to whom.

    `rule` is what was said of it; it is called `name` as long as no rule in force is.
    """

    rule: dict[str, Any]
    name: str
    since: float
    allowed: int
    shadowed: int
    keys: list[CutReading]


class AlertReading(TypedDict):
    """Something that the rules want to be told of, and how it stands."""

    name: str
    kind: str
    rule: str
    level: str
    since: float
    value: float
    threshold: float


class WorkerReading(TypedDict):
    """One process of several."""

    slot: int
    pid: int
    up: bool
    start: float
    restarts: int
    connections: int
    requests: int


class Reading(TypedDict):
    """All of it. `serves` is gateway, service or library; `version` names the rules in force."""

    at: float
    serves: str
    version: str
    rules: dict[str, RuleReading]
    routes: dict[str, RouteReading]
    checks: Histogram
    store: StoreReading
    upstreams: dict[str, Any]
    budget: dict[str, int] | None
    top: dict[str, TopReading]
    refusals: list[RefusalReading]
    reload: ReloadReading
    trial: TrialReading | None
    alerts: list[AlertReading]
    workers: list[WorkerReading]
