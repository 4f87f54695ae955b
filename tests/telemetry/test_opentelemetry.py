"""OpenTelemetry is told what there is to see, and of each refusal on the span that is under way."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from headgate import ManualClock
from headgate.errors import MissingExtra
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.telemetry.opentelemetry import INSTRUMENTS, Meters, Spans
from headgate.telemetry.telemetry import Telemetry
from tests.missing import lose
from tests.telemetry.readings import reading

RULES = Rules.read("version: 1\nrules: [{name: api, key: client.ip, limit: 2/min}]")
ALERT = {
    "name": "many", "kind": "refused", "rule": "api", "level": "raised", "since": 1.0, "value": 0.5,
    "threshold": 0.2,
}  # fmt: skip


def points(source: Any, times: int = 1) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    """What a collector finds, by instrument."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    Meters(source, provider)
    for _ in range(times):
        found: Any = reader.get_metrics_data()
    provider.shutdown()
    (resource,) = found.resource_metrics
    (scope,) = resource.scope_metrics
    assert scope.scope.name == "headgate"
    return {
        one.name: [(point.value, dict(point.attributes)) for point in one.data.data_points]
        for one in scope.metrics
    }


def test_instruments_show_what_a_reading_says() -> None:
    seen = reading(
        {"api": {"allowed": 5, "refused": 2, "limit": 9, "inside": 3, "queue": 4, "breaker": "open",
                 "waited": 1.5, "near": 1, "units_allowed": 10}},
        store={"kind": "redis", "degraded": True, "errors": {"timeout": 7}, "keys": 11},
        routes={"shop": {"statuses": {"2xx": 5, "5xx": 1}}},
        alerts=[ALERT],
    )  # fmt: skip

    found = points(lambda: seen)

    rule, store = {"headgate.rule": "api"}, {"headgate.store": "redis"}
    told = {said["headgate.outcome"]: value for value, said in found["headgate.decisions"]}
    assert told == {
        "allowed": 5, "delayed": 0, "refused": 2, "failed_open": 0, "failed_closed": 0,
        "shadowed": 0,
    }  # fmt: skip
    assert found["headgate.near_limit"] == [(1, rule)]
    assert found["headgate.cost"][0] == (10, {**rule, "headgate.outcome": "allowed"})
    assert found["headgate.time_in_queue"] == [(1.5, rule)]
    assert found["headgate.queued"] == [(4, rule)]
    assert found["headgate.active_leases"] == [(3, rule)]
    assert found["headgate.limit"] == [(9, rule)]
    assert [value for value, _ in found["headgate.breaker"]] == [0, 1, 0]
    assert found["headgate.store.degraded"] == [(1.0, store)]
    assert found["headgate.store.errors"] == [(7, {**store, "error.type": "timeout"})]
    assert found["headgate.store.keys"] == [(11.0, store)]
    assert found["headgate.requests"][1] == (
        1, {"http.route": "shop", "headgate.status_class": "5xx"},
    )  # fmt: skip
    assert found["headgate.alert"] == [
        (1, {"headgate.alert": "many", "headgate.kind": "refused", **rule})
    ]
    assert set(found) <= set(INSTRUMENTS)


def test_a_collection_asks_for_one_reading() -> None:
    asked: list[int] = []

    def source() -> Any:
        asked.append(1)
        return reading({"api": {"allowed": len(asked)}})

    found = points(source, times=3)

    assert (len(asked), found["headgate.decisions"][0][0]) == (3, 3)


def test_a_library_is_seen() -> None:
    keeper = Gatekeeper(RULES, clock=ManualClock(1.0))
    telemetry = Telemetry(keeper)
    for _ in range(3):
        keeper.enter(Request("GET", "/", client="192.0.2.1"))

    found = points(telemetry.reading)

    told = {said["headgate.outcome"]: value for value, said in found["headgate.decisions"]}
    assert (told["allowed"], told["refused"]) == (2, 1)


@pytest.mark.parametrize(("every", "count"), [(False, 1), (True, 3)])
def test_a_refusal_is_an_event_of_the_span_that_is_under_way(every: bool, count: int) -> None:
    keeper = Gatekeeper(RULES, clock=ManualClock(1.0))
    keeper.listen(Spans(every))
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    with provider.get_tracer("test").start_as_current_span("request"):
        for _ in range(3):
            keeper.enter(Request("GET", "/", client="192.0.2.1"))
    # Where no span is, there is nobody to tell.
    keeper.enter(Request("GET", "/", client="192.0.2.1"))

    (span,) = exporter.get_finished_spans()
    assert [event.name for event in span.events] == ["rate_limit.decision"] * count
    assert dict(span.events[-1].attributes or {}) == {
        "headgate.outcome": "refused",
        "headgate.version": RULES.digest,
        "headgate.rule": "api",
        "headgate.kind": "limit",
        "headgate.retry_after": 30.0,
        "headgate.remaining": 0,
    }
    provider.shutdown()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    lose(monkeypatch, "opentelemetry")
    for name in [one for one in sys.modules if one.startswith("opentelemetry.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "headgate.telemetry.opentelemetry")

    with pytest.raises(MissingExtra) as caught:
        import_module("headgate.telemetry.opentelemetry")

    said = 'the extra "otel" is not installed; try pip install "headgate[otel]"'
    assert str(caught.value) == said
