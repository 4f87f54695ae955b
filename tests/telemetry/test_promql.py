"""Prometheus and Grafana are told the same as the rules say, over metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from headgate.cli.program import program
from headgate.rules.model.alerts import Alerts
from headgate.rules.model.condition import WHEN
from headgate.telemetry import grafana, promql
from headgate.telemetry.names import FAMILIES
from headgate.telemetry.promql import metrics
from tests.servers.promtool import Promtool

DEPLOY = Path(__file__).parents[2] / "deploy"
RUNBOOKS = Path(__file__).parents[2] / "docs" / "operations" / "runbooks.md"
EVERY = Alerts([{"name": f"on-{when}", "when": when} for when in WHEN])
# What GET /metrics shows.
KNOWN = {family.title for family in FAMILIES if family.kind != "histogram"} | {
    f"{family.name}_{end}"
    for family in FAMILIES
    if family.kind == "histogram"
    for end in ("bucket", "count", "sum")
}
BAND = """\
rule_files: [rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - series: 'headgate_decisions_total{job="h", instance="i", rule="api", outcome="allowed"}'
        values: 0+75x20 1575+87x20 3315+99x40
      - series: 'headgate_decisions_total{job="h", instance="i", rule="api", outcome="refused"}'
        values: 0+25x20 525+13x20 785+1x40
      - series: 'headgate_breaker_state{job="h", instance="i", rule="api", state="open"}'
        values: 0 1 1 1 0 0 0 0
      - series: 'headgate_breaker_state{job="h", instance="i", rule="api", state="half_open"}'
        values: 1 0 0 0 1 1 0 0
    alert_rule_test:
      - {eval_time: 3m, alertname: on-refused, exp_alerts: [25%]}
      - {eval_time: 9m, alertname: on-refused, exp_alerts: [13%]}
      - {eval_time: 15m, alertname: on-refused, exp_alerts: []}
      - {eval_time: 0m, alertname: on-breaker, exp_alerts: []}
      - {eval_time: 30s, alertname: on-breaker, exp_alerts: [open]}
      - {eval_time: 1m, alertname: on-breaker, exp_alerts: [open]}
      - {eval_time: 2m, alertname: on-breaker, exp_alerts: []}
"""


def rules(alerts: Alerts, runbooks: str = "") -> list[dict[str, Any]]:
    """The rules of Prometheus, as any reader of YAML finds them."""
    (group,) = yaml.safe_load(promql.written(alerts, runbooks))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


@pytest.mark.parametrize("when", WHEN)
def test_every_kind_is_said_over_metrics_that_there_are(when: str) -> None:
    (one,) = [one for one in rules(EVERY) if one["alert"] == f"on-{when}"]

    assert set(metrics(one["expr"])) <= KNOWN
    assert one["expr"].count("(") == one["expr"].count(")")
    assert one["labels"] == {"severity": "warning", "kind": when}
    assert one["annotations"]["runbook_url"] == f"runbooks.md#{when}"


def test_a_rule_of_prometheus_says_what_the_condition_says() -> None:
    terms = Alerts(
        [
            {"name": "many", "when": "refused", "rule": ["a.b", "c"], "above": "30%", "below": "5%",
             "window": "5min", "least": 7, "after": "90s", "calm": "1.5s", "severity": "critical"}
        ]
    )  # fmt: skip

    (one,) = rules(terms, "https://wiki.example/runbooks")

    asked = (
        'sum by (job, instance, rule) (increase(headgate_decisions_total{rule=~"a\\\\.b|c"}[5m]))'
    )
    refused = (
        'sum by (job, instance, rule) (increase(headgate_decisions_total{outcome="refused", '
        'rule=~"a\\\\.b|c"}[5m]))'
    )
    assert one["expr"].splitlines() == [
        "(", refused, "/", f"{asked} >= 0.3", "and", f"{asked} >= 7", ")",
        "or",
        "(", refused, "/", f"{asked} >= 0.05",
        'and on (job, instance, rule) ALERTS{alertname="many", alertstate="firing"} == 1', ")",
    ]  # fmt: skip
    assert (one["for"], one["keep_firing_for"]) == ("90s", "1500ms")
    assert one["labels"] == {"severity": "critical", "kind": "refused"}
    assert one["annotations"] == {
        "summary": "{{ $labels.rule }} {{ $labels.instance }}: {{ $value | humanizePercentage }} "
        "of the requests are refused (raised at 30%)",
        "runbook_url": "https://wiki.example/runbooks#refused",
    }


def test_where_nothing_is_asked_for_there_is_a_file_all_the_same() -> None:
    assert yaml.safe_load(promql.written(Alerts([]))) == {"groups": []}


def test_prometheus_takes_the_file_and_keeps_the_band(promtool: Promtool, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(promql.written(EVERY))
    said = {one["alert"]: one for one in rules(EVERY)}
    cases = yaml.safe_load(BAND)
    for case in cases["tests"][0]["alert_rule_test"]:
        one = said[case["alertname"]]
        text = re.sub(
            r"\{\{ \$labels\.rule }} \{\{ .+?instance }}", "api i", one["annotations"]["summary"]
        )
        case["exp_alerts"] = [
            {"exp_labels": {**one["labels"], "job": "h", "instance": "i", "rule": "api"},
             "exp_annotations": {**one["annotations"], "summary": re.sub(r"\{\{.+}}", value, text)}}
            for value in case["exp_alerts"]
        ]  # fmt: skip
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(cases))

    assert promtool.test(tmp_path, "tests.yml") == ""


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    found = grafana.dashboard(EVERY)
    drawn = [target["expr"] for panel in found["panels"] for target in panel.get("targets", ())]
    drawn += [mark["expr"] for mark in found["annotations"]["list"]]
    drawn += [one["query"]["query"] for one in found["templating"]["list"][1:]]

    named = {name for expression in drawn for name in metrics(expression)}
    assert named <= KNOWN
    gauges = {name for name in KNOWN if not name.endswith(("_sum", "_count"))}
    assert gauges - named == set()
    assert [one for one in drawn if one.count("(") != one.count(")")] == []
    assert [one for one in drawn if one.count("{") != one.count("}")] == []


def test_the_dashboard_has_its_rows_and_nothing_lies_over_anything_else() -> None:
    panels = grafana.dashboard(Alerts())["panels"]

    heads = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert heads == [
        "Rules", "Places and waiting", "Latency", "Stores", "Breakers", "Upstreams", "Workers",
        "Alerts",
    ]  # fmt: skip
    taken = [
        (panel["gridPos"]["x"] + along, panel["gridPos"]["y"] + down)
        for panel in panels
        for along in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(along for along, _ in taken) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize(
    ("file", "form"),
    [("prometheus/headgate-alerts.yml", "--prometheus"), ("grafana/headgate.json", "--grafana")],
)
def test_what_lies_in_deploy_is_fresh(file: str, form: str) -> None:
    said = CliRunner().invoke(program, ["alerts", form])

    assert (DEPLOY / file).read_text() == said.output


def test_what_lies_in_deploy_loads() -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    board = json.loads((DEPLOY / "grafana" / "headgate.json").read_text())

    assert scraped["rule_files"] == ["headgate-alerts.yml"]
    assert board["title"] == "Headgate"


@pytest.mark.parametrize("when", WHEN)
def test_every_kind_has_a_runbook(when: str) -> None:
    assert re.search(rf"^## {when}$", RUNBOOKS.read_text(), re.MULTILINE)


def test_the_name_of_a_route_is_one_that_promql_can_read() -> None:
    one = Alerts([{"name": "slow", "when": "latency", "route": ["caf\u00e9 \U0001f600"]}])

    (rule,) = rules(one)
    assert 'route=~"caf\u00e9 \U0001f600"' in rule["expr"]
