"""PromQL: the conditions of a rule file as alerting rules of Prometheus.

Each says the same as its condition, over the metrics that a gateway, a service or a library shows,
for every instance by itself. The band is there, too: what Prometheus has raised stays raised until
the number is less than `below`, for an expression may ask which alerts fire. What has no metric of
its own is taken from `headgate_alert`, which is what was judged where it happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from headgate.rules.model.alerts import Alerts
from headgate.rules.model.condition import SHARES, STATES, TIMES, Condition
from headgate.telemetry.alerts import SAID, shown
from headgate.telemetry.bells import runbook

HEAD = """\
# The conditions of a rule file as Prometheus has them, over what GET /metrics of the admin shows.
# Written by: headgate alerts rules.yaml --prometheus
"""
# What is scraped a few times a minute has nothing to say about less.
SHORTEST = 60.0
PLACE = ("job", "instance")
FAILED = 'outcome=~"failed_open|failed_closed"'
DECISIONS = "headgate_decisions_total"


def written(alerts: Alerts, runbooks: str = "") -> str:
    """A rule file for Prometheus."""
    base = runbooks or alerts.runbooks
    rules = "".join(rule(one, base) for one in alerts.watched)
    return HEAD + (f"groups:\n  - name: headgate\n    rules:\n{rules}" if rules else "groups: []\n")


def rule(condition: Condition, base: str) -> str:
    """One alerting rule."""
    lines = [f"- alert: {quoted(condition.name)}", "  expr: |-"]
    lines += [f"    {line}" for line in expression(condition).splitlines()]
    lines += [f"  for: {lasting(condition.after)}"] if condition.after else []
    lines += [f"  keep_firing_for: {lasting(condition.calm)}"] if condition.calm else []
    lines += ["  labels:", f"    severity: {condition.severity}", f"    kind: {condition.when}"]
    lines += ["  annotations:", f"    summary: {quoted(summary(condition))}"]
    lines += [f"    runbook_url: {quoted(runbook(condition.when, base))}"]
    return "".join(f"      {line}\n" for line in lines)


def summary(condition: Condition) -> str:
    """What is said where it is raised, in Prometheus' own templates."""
    shape = "humanizePercentage" if condition.when in SHARES else "humanize"
    unit = "s" if condition.when in TIMES else ""
    found = "{{ $value | " + shape + " }}" + unit
    said = SAID[condition.when].format(found)
    known = LABELS[condition.when]
    whom = " ".join("{{ $labels." + label + " }}" for label in (*known, "instance"))
    rest = f" (raised at {shown(condition.when, condition.high)})"
    return f"{whom}: {said}{'' if condition.when in STATES else rest}"


def expression(condition: Condition) -> str:
    """When it is raised, and stays so."""
    return SPOKEN[condition.when](condition)


def banded(condition: Condition, value: str, asked: str = "") -> str:
    """Raised at `above` among enough requests, and then as long as it is not less than `below`."""
    least = f"\nand\n{asked} >= {condition.least}" if asked else ""
    return (
        f"(\n{value} >= {condition.high:g}{least}\n)\nor\n"
        f"(\n{value} >= {condition.low:g}\nand {fires(condition)}\n)"
    )


def fires(condition: Condition) -> str:
    """Where the alert fires already."""
    labels = ", ".join((*PLACE, *LABELS[condition.when]))
    name = json.dumps(condition.name)
    return f'on ({labels}) ALERTS{{alertname={name}, alertstate="firing"}} == 1'


def total(condition: Condition, metric: str, *matchers: str, grown: str = "increase") -> str:
    """What a counter gained in the window, for each thing that the condition is about."""
    found = chosen(metric, condition, *matchers)
    return f"{added(condition)} ({grown}({found}[{window(condition)}]))"


def added(condition: Condition, *labels: str, how: str = "sum") -> str:
    """The sum over workers and the like."""
    return f"{how} by ({', '.join((*PLACE, *LABELS[condition.when], *labels))})"


def chosen(metric: str, condition: Condition, *matchers: str) -> str:
    """A metric, of those rules or routes that the condition is about."""
    label = (LABELS[condition.when] or ("",))[0]
    names: Sequence[str] = {"rule": condition.rule, "route": condition.route}.get(label, ())
    found = [*matchers, *([f"{label}=~{spoken(pattern(names))}"] if names else [])]
    return f"{metric}{{{', '.join(found)}}}" if found else metric


def pattern(names: Sequence[str]) -> str:
    """A regular expression of these names and no others."""
    plain = ("".join(SPECIAL.get(one, one) for one in name) for name in names)
    return "|".join(plain)


def spoken(text: str) -> str:
    """A text in PromQL, which knows no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)


SPECIAL = {one: f"\\{one}" for one in "\\.+*?()|[]{}^$"}


def share(metric: str, *matchers: str) -> Callable[[Condition], str]:
    """A share of all requests by a rule, counted in a metric."""

    def say(condition: Condition) -> str:
        asked = total(condition, DECISIONS)
        return banded(condition, f"{total(condition, metric, *matchers)}\n/\n{asked}", asked)

    return say


def errors(condition: Condition) -> str:
    asked = total(condition, "headgate_http_requests_total")
    bad = total(condition, "headgate_http_requests_total", 'status_class="5xx"')
    return banded(condition, f"{bad}\n/\n{asked}", asked)


def timed(metric: str) -> Callable[[Condition], str]:
    """A quantile of a histogram."""

    def say(condition: Condition) -> str:
        rates = f"rate({chosen(f'{metric}_bucket', condition)}[{window(condition)}])"
        value = f"histogram_quantile({condition.share:g}, {added(condition, 'le')} ({rates}))"
        return banded(condition, value, total(condition, f"{metric}_count"))

    return say


def queue(condition: Condition) -> str:
    return banded(condition, total(condition, "headgate_queue_length", grown="avg_over_time"))


def restarts(condition: Condition) -> str:
    return banded(condition, f"round({total(condition, 'headgate_worker_restarts_total')})")


def breaker(condition: Condition) -> str:
    most = added(condition, how="max")
    opened, half = (
        f"{most} ({chosen('headgate_breaker_state', condition, f'state={json.dumps(state)}')}) == 1"
        for state in ("open", "half_open")
    )
    return f"{opened}\nor\n(\n{half}\nand {fires(condition)}\n)"


def degraded(condition: Condition) -> str:
    return f"{added(condition, how='max')} (headgate_store_degraded) == 1"


def reload(condition: Condition) -> str:
    """Rules that were bad, and none since that were good."""
    grown = f"{added(condition)} (increase(headgate_config_reloads_total"
    return f'{grown}{{result!="ok"}}[10m])) > 0\nunless\n{grown}{{result="ok"}}[10m])) > 0'


def judged(condition: Condition) -> str:
    """What was judged where it happened."""
    found = f'headgate_alert{{name={json.dumps(condition.name)}, kind="{condition.when}"}}'
    return f"{added(condition, how='max')} ({found}) == 1"


LABELS: dict[str, tuple[str, ...]] = {
    "refused": ("rule",), "near": ("rule",), "shadowed": ("rule",), "failed": ("rule",),
    "queue": ("rule",), "breaker": ("rule",), "degraded": ("store",), "checks": ("store",),
    "latency": ("route",), "errors": ("route",), "funds": (), "reload": (), "restarts": (),
}  # fmt: skip
SPOKEN: dict[str, Callable[[Condition], str]] = {
    "refused": share(DECISIONS, 'outcome="refused"'), "near": share("headgate_near_limit_total"),
    "shadowed": share(DECISIONS, 'outcome="shadowed"'), "failed": share(DECISIONS, FAILED),
    "queue": queue, "breaker": breaker, "degraded": degraded,
    "checks": timed("headgate_check_duration_seconds"),
    "latency": timed("headgate_http_request_duration_seconds"), "errors": errors, "funds": judged,
    "reload": reload, "restarts": restarts,
}  # fmt: skip


def window(condition: Condition) -> str:
    """How far back is looked."""
    return lasting(max(condition.window, SHORTEST))


def lasting(seconds: float) -> str:
    """A duration as Prometheus spells it."""
    span = round(seconds * 1000)
    for unit, length in (("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if span % length == 0:
            return f"{span // length}{unit}"
    return f"{span}ms"


def quoted(text: str) -> str:
    """A text in YAML."""
    return json.dumps(text)


def metrics(text: str) -> Iterator[str]:
    """The names of all metrics of ours that a text speaks of."""
    for word in "".join(one if one.isalnum() or one == "_" else " " for one in text).split():
        if word.startswith("headgate_"):
            yield word
