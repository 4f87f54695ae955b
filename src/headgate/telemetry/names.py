"""Names: every metric there is, what it is told of, and what it says."""

from __future__ import annotations

from typing import NamedTuple


class Family(NamedTuple):
    """A metric: a counter's name ends in `_total` where it is read."""

    name: str
    kind: str
    labels: tuple[str, ...]
    says: str

    @property
    def title(self) -> str:
        """Its name as it is read."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


FAMILIES = (
    Family(
        "headgate_decisions", "counter", ("rule", "outcome"),
        "What became of the requests that a rule met, each counted once.",
    ),
    Family(
        "headgate_near_limit", "counter", ("rule",),
        "Requests that were let in with more than 80 % of a limit used.",
    ),
    Family("headgate_cost_units", "counter", ("rule", "outcome"), "What requests cost, in units."),
    Family("headgate_wait_seconds", "counter", ("rule",), "How long requests waited for a limit."),
    Family(
        "headgate_refusals_sampled", "counter", ("rule",),
        "Refusals that were weighed again, exactly.",
    ),
    Family(
        "headgate_wrong_refusals_sampled", "counter", ("rule",),
        "How many of them the exact log would have let in.",
    ),
    Family("headgate_limit", "gauge", ("rule",), "How many may be inside at once, as it is now."),
    Family("headgate_permits_in_use", "gauge", ("rule",), "How many are inside."),
    Family("headgate_queue_length", "gauge", ("rule",), "How many wait."),
    Family(
        "headgate_breaker_state", "gauge", ("rule", "state"),
        "1 for the worst state that a breaker of the rule is in, 0 for the others.",
    ),
    Family(
        "headgate_http_requests", "counter", ("route", "status_class"),
        "Requests by the route of a gateway, or in a protocol of a service.",
    ),
    Family(
        "headgate_http_request_duration_seconds", "histogram", ("route",),
        "How long it took from the head of a request to the end of its answer.",
    ),
    Family(
        "headgate_check_duration_seconds", "histogram", ("store",),
        "How long a store on a server took to decide.",
    ),
    Family("headgate_store_errors", "counter", ("store", "kind"), "How often it did not answer."),
    Family("headgate_store_degraded", "gauge", ("store",), "1 while it is decided without it."),
    Family(
        "headgate_store_degraded_seconds", "counter", ("store",),
        "For how long it was decided without it, over all processes.",
    ),
    Family("headgate_keys", "gauge", ("store",), "Keys whose state matters, in memory."),
    Family(
        "headgate_key_evictions", "counter", ("store",), "Keys that were given up for want of room."
    ),
    Family("headgate_upstream_requests", "counter", ("upstream", "server"), "What it was asked."),
    Family("headgate_upstream_failures", "counter", ("upstream", "server"), "Those that failed."),
    Family("headgate_upstream_busy", "gauge", ("upstream", "server"), "Those under way."),
    Family("headgate_upstream_up", "gauge", ("upstream", "server"), "1 while it is well."),
    Family("headgate_workers", "gauge", (), "Processes that serve."),
    Family("headgate_worker_restarts", "counter", (), "How often one had to be replaced."),
    Family("headgate_connections", "gauge", (), "Clients that are connected."),
    Family("headgate_config_reloads", "counter", ("result",), "How often rules were read again."),
    Family(
        "headgate_config_last_reload_timestamp_seconds", "gauge", (),
        "When the rules in force came into it; 0 if they are those of the start.",
    ),
    Family("headgate_config_info", "gauge", ("version",), "1 for the rules in force."),
    Family("headgate_alert", "gauge", ("name", "kind", "rule"), "1 while an alert is raised."),
    Family(
        "headgate_build_info", "gauge", ("version", "compiled", "python"), "Which Headgate it is."
    ),
)  # fmt: skip
