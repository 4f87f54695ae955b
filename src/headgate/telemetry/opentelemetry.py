"""OpenTelemetry: what there is to see as instruments, and decisions as events of the current span.

    meters = Meters(telemetry.reading)          # instruments under `headgate.`, read when collected
    keeper.listen(Spans())                      # an event for each request that is refused

Only the API is needed here; where it goes from there is the application's choice. A meter is asked
when somebody collects, so no decision pays for it. An event goes with the span that is under way
anyway; a span of its own would cost more than the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from headgate.errors import MissingExtra
from headgate.rules.live.entry import Entry
from headgate.telemetry.reading import Reading
from headgate.telemetry.signs import OUTCOMES

try:
    from opentelemetry import metrics, trace
    from opentelemetry.metrics import CallbackOptions, Observation
except ImportError:
    raise MissingExtra("otel") from None

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

NAME = "headgate"
EVENT = "rate_limit.decision"
STATES = ("closed", "open", "half_open")

Points = Iterator[tuple[float, Mapping[str, Any]]]


def decisions(reading: Reading) -> Points:
    """What became of requests."""
    for name, rule in reading["rules"].items():
        told: Mapping[str, Any] = rule
        for outcome in (*OUTCOMES, "shadowed"):
            # Those that went in only because the rule is tried out are told apart.
            tried = rule["shadowed"] if outcome == "allowed" else 0
            yield told[outcome] - tried, {"headgate.rule": name, "headgate.outcome": outcome}


def units(reading: Reading) -> Points:
    """What requests cost."""
    for name, rule in reading["rules"].items():
        yield rule["units_allowed"], {"headgate.rule": name, "headgate.outcome": "allowed"}
        yield rule["units_refused"], {"headgate.rule": name, "headgate.outcome": "refused"}


def of_rules(word: str) -> Callable[[Reading], Points]:
    """One number of each rule that has it."""

    def observe(reading: Reading) -> Points:
        for name, rule in reading["rules"].items():
            told: Mapping[str, Any] = rule
            if told[word] is not None:
                yield told[word], {"headgate.rule": name}

    return observe


def breakers(reading: Reading) -> Points:
    """In which state each breaker is."""
    for name, rule in reading["rules"].items():
        for state in STATES if rule["breaker"] else ():
            yield (
                int(rule["breaker"] == state),
                {"headgate.rule": name, "headgate.state": state},
            )


def of_store(word: str) -> Callable[[Reading], Points]:
    """One number of the store, if it is known."""

    def observe(reading: Reading) -> Points:
        told: Mapping[str, Any] = reading["store"]
        if told[word] is not None:
            yield float(told[word]), {"headgate.store": told["kind"]}

    return observe


def failures(reading: Reading) -> Points:
    """Checks that the store did not answer, by why."""
    for kind, count in reading["store"]["errors"].items():
        yield count, {"headgate.store": reading["store"]["kind"], "error.type": kind}


def requests(reading: Reading) -> Points:
    """Answers by route."""
    for name, route in reading["routes"].items():
        for status, count in route["statuses"].items():
            yield count, {"http.route": name, "headgate.status_class": status}


def alerts(reading: Reading) -> Points:
    """What is raised."""
    for one in reading["alerts"]:
        yield (
            1,
            {
                "headgate.alert": one["name"],
                "headgate.kind": one["kind"],
                "headgate.rule": one["rule"],
            },
        )


# Each instrument: its kind, its unit, what it says, and where that comes from.
COUNTER, SUM, GAUGE = "counter", "up_down_counter", "gauge"
INSTRUMENTS: dict[str, tuple[str, str, str, Callable[[Reading], Points]]] = {
    "headgate.decisions": (COUNTER, "{request}", "Requests by what became of them.", decisions),
    "headgate.near_limit": (
        COUNTER, "{request}", "Requests that found more than 80 % of a limit used.",
        of_rules("near"),
    ),
    "headgate.cost": (COUNTER, "{unit}", "What requests cost.", units),
    "headgate.time_in_queue": (COUNTER, "s", "How long requests waited.", of_rules("waited")),
    "headgate.queued": (SUM, "{request}", "Requests that wait.", of_rules("queue")),
    "headgate.active_leases": (SUM, "{request}", "Requests that are inside.", of_rules("inside")),
    "headgate.limit": (GAUGE, "{request}", "How many may be inside.", of_rules("limit")),
    "headgate.breaker": (GAUGE, "1", "1 for the state that a breaker is in.", breakers),
    "headgate.store.degraded": (
        GAUGE, "1", "1 while the store cannot be asked.", of_store("degraded"),
    ),
    "headgate.store.degraded_time": (
        COUNTER, "s", "How long it could not be asked.", of_store("degraded_seconds"),
    ),
    "headgate.store.errors": (COUNTER, "{check}", "Checks that were not answered.", failures),
    "headgate.store.keys": (GAUGE, "{key}", "Keys that are kept.", of_store("keys")),
    "headgate.store.evictions": (COUNTER, "{key}", "Keys that had to leave.", of_store("evicted")),
    "headgate.requests": (COUNTER, "{request}", "Answers by route and status.", requests),
    "headgate.alert": (GAUGE, "1", "1 while an alert is raised.", alerts),
}  # fmt: skip


class Meters:
    """Instruments that show what `source` answers, each time somebody collects.

    They are those of the provider that the application has set, unless another one is given. One
    collection asks for one reading.
    """

    def __init__(
        self, source: Callable[[], Reading], provider: MeterProvider | None = None
    ) -> None:
        self._source = source
        self._reading: Reading | None = None
        # Who has had the reading that is there.
        self._had: set[str] = set()
        meter = metrics.get_meter(NAME, meter_provider=provider)
        for name, (kind, unit, says, points) in INSTRUMENTS.items():
            make = getattr(meter, f"create_observable_{kind}")
            make(name, callbacks=[self._observer(name, points)], unit=unit, description=says)

    def _observer(
        self, name: str, points: Callable[[Reading], Points]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(options: CallbackOptions) -> Iterable[Observation]:
            reading = self._fresh(name)
            return [Observation(value, dict(said)) for value, said in points(reading)]

        return observe

    def _fresh(self, name: str) -> Reading:
        # Each instrument is asked once in a collection: whoever comes again begins the next one.
        if self._reading is None or name in self._had:
            self._reading = self._source()
            self._had.clear()
        self._had.add(name)
        return self._reading


class Spans:
    """An event for each request that was refused, on the span that is under way: a listener.

    With `every`, there is one for each request that a rule had a say in.
    """

    def __init__(self, every: bool = False) -> None:
        self._every = every

    def __call__(self, entry: Entry) -> None:
        if entry and not (self._every and entry.passes):
            return
        span = trace.get_current_span()
        if span.is_recording():
            span.add_event(EVENT, told(entry))


def told(entry: Entry) -> dict[str, Any]:
    """What is said of a decision."""
    refusal = entry.refusal
    outcome = "refused" if refusal is not None else "delayed" if entry.waited else "allowed"
    found: dict[str, Any] = {"headgate.outcome": outcome, "headgate.version": entry.version}
    if refusal is not None:
        found["headgate.rule"] = entry.rule
        found["headgate.kind"] = refusal.kind
        if refusal.retry_after < inf:
            found["headgate.retry_after"] = refusal.retry_after
    elif entry.passes:
        found["headgate.rule"] = [one.ruling.name for one in entry.passes]
    left = [one.decision.remaining for one in entry.passes if one.decision is not None]
    if left:
        found["headgate.remaining"] = min(left)
    return found
