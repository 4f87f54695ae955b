"""Prometheus: a reading as metrics, for whoever scrapes.

    from headgate.telemetry.prometheus import Collector, exposition

    REGISTRY.register(Collector(telemetry))    # among the metrics of an app
    exposition(telemetry.reading())            # the text itself

No limiter key is ever a label: there are as many of them as there are callers.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from headgate.clock import COMPILED
from headgate.errors import MissingExtra
from headgate.telemetry.names import FAMILIES, Family
from headgate.telemetry.reading import Histogram, Reading

TYPE = "text/plain; version=0.0.4; charset=utf-8"
OUTCOMES = ("allowed", "delayed", "refused", "shadowed", "failed_open", "failed_closed")
STATES = ("closed", "half_open", "open")

Sample = tuple[str, tuple[str, ...], Any]


class Collector:
    """What a registry of `prometheus_client` collects of `source`, a `Telemetry` or the like."""

    def __init__(self, source: Any) -> None:
        require()
        self._source = source

    def collect(self) -> Iterator[Any]:
        """The metric families, made anew for each scrape."""
        return families(self._source.reading())

    def describe(self) -> Iterable[Any]:
        """Nothing: what there is, is known when it is read."""
        return ()


def exposition(reading: Reading) -> str:
    """A reading in the text format of Prometheus."""
    require()
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra

    class Once:
        def collect(self) -> Iterator[Any]:
            return families(reading)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    return generate_latest(registry).decode("utf-8")


def families(reading: Reading) -> Iterator[Any]:
    """A reading as metric families of `prometheus_client`."""
    from prometheus_client import core  # noqa: PLC0415 - an extra

    kinds: dict[str, Callable[..., Any]] = {
        "counter": core.CounterMetricFamily,
        "gauge": core.GaugeMetricFamily,
        "histogram": core.HistogramMetricFamily,
    }
    found: dict[str, list[tuple[tuple[str, ...], Any]]] = {}
    for name, labels, value in samples(reading):
        found.setdefault(name, []).append((labels, value))
    for family in FAMILIES:
        if family.name in found:
            metric = kinds[family.kind](family.name, family.says, labels=family.labels)
            for labels, value in found[family.name]:
                add(metric, family, labels, value)
            yield metric


def add(metric: Any, family: Family, labels: tuple[str, ...], value: Any) -> None:
    """Add one sample to its family."""
    texts = [plain(label) for label in labels]
    if family.kind == "histogram":
        metric.add_metric(texts, *buckets(value))
    else:
        metric.add_metric(texts, value)


def buckets(value: Histogram) -> tuple[list[tuple[str, int]], float]:
    """How many took at most so long, as Prometheus counts them, and how long all did together."""
    found, sum_ = [], 0
    for bound, count in zip([*map(str, value["bounds"]), "+Inf"], value["counts"], strict=True):
        sum_ += count
        found.append((bound, sum_))
    return found, value["sum"]


def samples(reading: Reading) -> Iterator[Sample]:
    """Every metric of a reading: its name, its labels, and its value."""
    # Where others let in keys of the same limit, nobody knows which refusals were wrong: not none.
    weighed = reading["store"]["kind"] == "memory"
    for name, rule in reading["rules"].items():
        yield from ruled(name, rule, weighed)
    for route, one in reading["routes"].items():
        for status, count in one["statuses"].items():
            yield "headgate_http_requests", (route, status), count
        rest = one["requests"] - sum(one["statuses"].values())
        if rest > 0:
            yield "headgate_http_requests", (route, ""), rest
        if sum(one["latency"]["counts"]):
            yield "headgate_http_request_duration_seconds", (route,), one["latency"]
    yield from stored(reading)
    yield from served(reading)
    yield from standing(reading)


def ruled(name: str, rule: Any, weighed: bool) -> Iterator[Sample]:
    """What there is to tell of one rule."""
    for outcome in OUTCOMES:
        # Those that went in only because the rule is tried out are told apart here.
        tried = rule["shadowed"] if outcome == "allowed" else 0
        yield "headgate_decisions", (name, outcome), rule[outcome] - tried
    for outcome in ("allowed", "refused"):
        yield "headgate_cost_units", (name, outcome), rule[f"units_{outcome}"]
    yield "headgate_near_limit", (name,), rule["near"]
    yield "headgate_wait_seconds", (name,), rule["waited"]
    if weighed:
        yield "headgate_refusals_sampled", (name,), rule["sampled"]
        yield "headgate_wrong_refusals_sampled", (name,), rule["wrong"]
    yield "headgate_queue_length", (name,), rule["queue"] + rule["waiting"]
    if rule["limit"] is not None:
        yield "headgate_limit", (name,), rule["limit"]
        yield "headgate_permits_in_use", (name,), rule["inside"]
    if rule["breaker"]:
        for state in STATES:
            yield "headgate_breaker_state", (name, state), int(rule["breaker"] == state)


def stored(reading: Reading) -> Iterator[Sample]:
    """What there is to tell of the store."""
    store = reading["store"]
    kind = store["kind"]
    yield "headgate_store_degraded", (kind,), int(store["degraded"])
    yield "headgate_store_degraded_seconds", (kind,), store["degraded_seconds"]
    for error, count in store["errors"].items():
        yield "headgate_store_errors", (kind, error), count
    if store["keys"] is not None:
        yield "headgate_keys", (kind,), store["keys"]
    if store["evicted"] is not None:
        yield "headgate_key_evictions", (kind,), store["evicted"]
    if sum(reading["checks"]["counts"]):
        yield "headgate_check_duration_seconds", (kind,), reading["checks"]


def served(reading: Reading) -> Iterator[Sample]:
    """What there is to tell of servers behind, and of processes here."""
    for upstream, servers in reading["upstreams"].items():
        for server, one in servers.items():
            yield "headgate_upstream_requests", (upstream, server), one["requests"]
            yield "headgate_upstream_failures", (upstream, server), one["failures"]
            yield "headgate_upstream_busy", (upstream, server), one["busy"]
            yield "headgate_upstream_up", (upstream, server), int(bool(one["well"]))
    yield "headgate_workers", (), sum(one["up"] for one in reading["workers"])
    yield "headgate_worker_restarts", (), sum(one["restarts"] for one in reading["workers"])
    yield "headgate_connections", (), sum(one["connections"] for one in reading["workers"])


def standing(reading: Reading) -> Iterator[Sample]:
    """What there is to tell of the rules in force, and of alerts."""
    reload = reading["reload"]
    yield "headgate_config_reloads", ("ok",), reload["loads"]
    yield "headgate_config_reloads", ("bad",), reload["failures"]
    yield "headgate_config_last_reload_timestamp_seconds", (), reload["at"]
    yield "headgate_config_info", (reading["version"],), 1
    for alert in reading["alerts"]:
        labels = (alert["name"], alert["kind"], alert["rule"])
        yield "headgate_alert", labels, int(alert["level"] == "raised")
    compiled = str(COMPILED).lower()
    yield "headgate_build_info", (version(), compiled, platform.python_version()), 1


def version() -> str:
    """Which Headgate this is."""
    from importlib import metadata  # noqa: PLC0415 - only for whoever scrapes

    try:
        return metadata.version("headgate")
    except metadata.PackageNotFoundError:
        return ""


def plain(label: str) -> str:
    """A label that any scraper can read: strangers have no say in it, and yet."""
    return label.encode("utf-8", "replace").decode("utf-8")


def require() -> None:
    """Raise the error that tells how to install what is needed."""
    if find_spec("prometheus_client") is None:
        raise MissingExtra("prometheus")


def page(source: Any) -> Callable[[Mapping[str, Any], Callable[..., Any]], list[bytes]]:
    """A WSGI app that answers whoever scrapes; frameworks can mount it anywhere."""
    require()

    def app(environ: Mapping[str, Any], begin: Callable[..., Any]) -> list[bytes]:
        body = exposition(source.reading()).encode()
        begin("200 OK", [("content-type", TYPE), ("content-length", str(len(body)))])
        return [body]

    return app


def apage(source: Any) -> Callable[[Any, Any, Any], Any]:
    """The same as an ASGI app."""
    require()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = exposition(source.reading()).encode()
        headers = [(b"content-type", TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app
