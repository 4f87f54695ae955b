"""Panels: the pictures of a dashboard, and what is asked of Prometheus for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headgate.rules.model.alerts import Alerts

HERE = 'instance=~"$instance"'
RULE = f'{HERE}, rule=~"$rule"'
ROUTE = f'{HERE}, route=~"$route"'
SPAN = "[$__rate_interval]"


class Panel(NamedTuple):
    """A picture: its title, its unit, and what is drawn, each with a legend."""

    title: str
    unit: str
    drawn: Sequence[tuple[str, str]]
    says: str
    kind: str = "timeseries"
    stacked: bool = False


def rate(metric: str, where: str, *by: str) -> str:
    """How much a counter grows in a second."""
    return f"sum by ({', '.join(by)}) (rate({metric}{{{where}}}{SPAN}))"


def slowest(metric: str, where: str, by: str, share: float) -> str:
    """What so many do not exceed."""
    return f"histogram_quantile({share:g}, {rate(f'{metric}_bucket', where, by, 'le')})"


def quantiles(metric: str, where: str, by: str) -> list[tuple[str, str]]:
    """Three of them."""
    return [
        (slowest(metric, where, by, share), f"{{{{{by}}}}} p{share * 100:g}")
        for share in (0.5, 0.95, 0.99)
    ]


def ruled() -> list[Panel]:
    """What becomes of requests."""
    decisions = "headgate_decisions_total"
    refused = rate(decisions, f'{RULE}, outcome="refused"', "rule")
    asked = rate(decisions, RULE, "rule")
    near = rate("headgate_near_limit_total", RULE, "rule")
    wrong = rate("headgate_wrong_refusals_sampled_total", RULE, "rule")
    sampled = rate("headgate_refusals_sampled_total", RULE, "rule")
    return [
        Panel("Requests by what became of them", "reqps",
              [(rate(decisions, RULE, "outcome"), "{{outcome}}")],
              "All that rules decided.", stacked=True),
        Panel("Share of requests that are refused", "percentunit",
              [(f"{refused} / {asked}", "{{rule}}")],
              "Of each rule, among what it was asked about."),
        Panel("Share of requests near the limit", "percentunit",
              [(f"{near} / {asked}", "{{rule}}")],
              "Those that found more than 80 % of a limit used."),
        Panel("Would be refused", "reqps",
              [(rate(decisions, f'{RULE}, outcome="shadowed"', "rule"), "{{rule}}")],
              "What rules in shadow would refuse if they were enforced."),
        Panel("Cost", "short",
              [(rate("headgate_cost_units_total", RULE, "rule", "outcome"),
                "{{rule}} {{outcome}}")],
              "Units a second."),
        Panel("Refused although an exact count would let in", "percentunit",
              [(f"{wrong} / {sampled}", "{{rule}}")],
              "Estimated from a sample of the refusals."),
    ]  # fmt: skip


def crowded() -> list[Panel]:
    """Who is inside, and who waits."""
    inside = f"sum by (rule) (headgate_permits_in_use{{{RULE}}})"
    return [
        Panel("Inside, and how many may be", "short",
              [(inside, "{{rule}} inside"),
               (f"sum by (rule) (headgate_limit{{{RULE}}})", "{{rule}} limit")],
              "The limit moves where a rule is adaptive."),
        Panel("Waiting", "short",
              [(f"sum by (rule) (headgate_queue_length{{{RULE}}})", "{{rule}}")],
              "Who is held back until it fits."),
        Panel("Waited", "s",
              [(rate("headgate_wait_seconds_total", RULE, "rule"), "{{rule}}")],
              "Seconds that requests waited, in each second."),
    ]  # fmt: skip


def timed() -> list[Panel]:
    """How long answers take."""
    return [
        Panel("Requests by route and status", "reqps",
              [(rate("headgate_http_requests_total", ROUTE, "route", "status_class"),
                "{{route}} {{status_class}}")],
              "Answers, also those that rules gave.", stacked=True),
        Panel("How long answers take", "s",
              quantiles("headgate_http_request_duration_seconds", ROUTE, "route"),
              "From a request's head until its answer is sent."),
    ]  # fmt: skip


def stored() -> list[Panel]:
    """How the store is."""
    seconds = f"headgate_store_degraded_seconds_total{{{HERE}}}"
    return [
        Panel("How long the store takes", "s",
              quantiles("headgate_check_duration_seconds", HERE, "store"),
              "Of stores on a server."),
        Panel("Errors of the store", "ops",
              [(rate("headgate_store_errors_total", HERE, "store", "kind"), "{{store}} {{kind}}")],
              "Checks that were not answered, by why."),
        Panel("Decided without the store", "percentunit",
              [(f"max by (store) (headgate_store_degraded{{{HERE}}})", "{{store}} now"),
               (f"sum by (store) (rate({seconds}{SPAN}))", "{{store}} part of the time")],
              "While it cannot be asked, rules do what `when_unavailable` says."),
        Panel("Keys, and those that had to leave", "short",
              [(f"sum by (store) (headgate_keys{{{HERE}}})", "{{store}} keys"),
               (rate("headgate_key_evictions_total", HERE, "store"), "{{store}} evicted a second")],
              "A table that evicts is too small."),
    ]  # fmt: skip


def broken() -> list[Panel]:
    """Which breakers are open."""
    return [
        Panel("Breakers that are not closed", "short",
              [(f'sum by (rule, state) (headgate_breaker_state{{{RULE}, state!="closed"}})',
                "{{rule}} {{state}}")],
              "An open breaker lets nothing through, a half open one a few to try."),
    ]  # fmt: skip


def served() -> list[Panel]:
    """How the servers behind a gateway are."""
    where = ("upstream", "server")
    asked = rate("headgate_upstream_requests_total", HERE, *where)
    failed = rate("headgate_upstream_failures_total", HERE, *where)
    name = "{{upstream}} {{server}}"
    return [
        Panel("Requests to servers", "reqps", [(asked, name)], "What each server is asked."),
        Panel("Share of them that failed", "percentunit", [(f"{failed} / {asked}", name)],
              "As its breaker counts them."),
        Panel("Under way at servers", "short",
              [(f"sum by (upstream, server) (headgate_upstream_busy{{{HERE}}})", name)],
              "Requests whose answers are not over."),
        Panel("Servers that are well", "short",
              [(f"min by (upstream, server) (headgate_upstream_up{{{HERE}}})", name)],
              "0 where one gets no requests."),
    ]  # fmt: skip


def working() -> list[Panel]:
    """How the processes are, and by which rules they go."""
    last = f"headgate_config_last_reload_timestamp_seconds{{{HERE}}}"
    reloads = f"headgate_config_reloads_total{{{HERE}}}"
    return [
        Panel("Workers", "short",
              [(f"sum by (instance) (headgate_workers{{{HERE}}})", "{{instance}}")],
              "Processes that serve."),
        Panel("Connections", "short",
              [(f"sum by (instance) (headgate_connections{{{HERE}}})", "{{instance}}")],
              "Clients that are connected."),
        Panel("Workers that fell", "short",
              [(f"sum by (instance) (increase(headgate_worker_restarts_total{{{HERE}}}{SPAN}))",
                "{{instance}}")],
              "Each was replaced."),
        Panel("Rules read again", "short",
              [(f"sum by (instance, result) (increase({reloads}{SPAN}))",
                "{{instance}} {{result}}")],
              "Bad ones change nothing."),
        Panel("Age of the rules", "s", [(f"time() - {last}", "{{instance}}")],
              "Since they came into force."),
        Panel("Versions", "short",
              [(f"headgate_config_info{{{HERE}}}", "{{instance}} rules {{version}}"),
               (f"headgate_build_info{{{HERE}}}",
                "{{instance}} headgate {{version}} {{compiled}}")],
              "What each instance goes by.", kind="table"),
    ]  # fmt: skip


def alarmed(alerts: Alerts) -> list[Panel]:
    """What is raised."""
    names = "|".join(one.name for one in alerts.watched)
    fires = f'ALERTS{{alertname=~"{names}", alertstate="firing"}}'
    return [
        Panel("Raised by Headgate", "short",
              [(f"headgate_alert{{{HERE}}} == 1", "{{name}} {{rule}} {{instance}}")],
              "What the rule file's conditions have to tell."),
        Panel("Firing in Prometheus", "short", [(fires, "{{alertname}} {{rule}} {{instance}}")],
              "The same, as judged by Prometheus."),
    ]  # fmt: skip
