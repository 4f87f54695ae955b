"""Grafana: a dashboard over the metrics, as JSON that Grafana imports.

A row for each thing one asks of a limiter: what rules let in and refuse, how long it takes, how the
store, breakers, servers and workers are, and which alerts are raised. Instances, rules and routes
are chosen at its head; alerts and new rules are marked in every picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from headgate.rules.model.alerts import Alerts
from headgate.telemetry.panels import (
    HERE,
    Panel,
    alarmed,
    broken,
    crowded,
    ruled,
    served,
    stored,
    timed,
    working,
)

WIDE, HIGH = 24, 8
SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard(alerts: Alerts) -> dict[str, Any]:
    """The dashboard."""
    rows = (
        ("Rules", ruled()), ("Places and waiting", crowded()), ("Latency", timed()),
        ("Stores", stored()), ("Breakers", broken()), ("Upstreams", served()),
        ("Workers", working()), ("Alerts", alarmed(alerts)),
    )  # fmt: skip
    return {
        "title": "Headgate",
        "uid": "headgate",
        "description": "Written by: headgate alerts rules.yaml --grafana",
        "tags": ["headgate"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables()},
        "annotations": {"list": marks()},
        "panels": laid(rows),
    }


def written(alerts: Alerts) -> str:
    """The same as a text."""
    return json.dumps(dashboard(alerts), indent=2) + "\n"


def laid(rows: Iterable[tuple[str, Sequence[Panel]]]) -> list[dict[str, Any]]:
    """All panels, three in a row at most, under the heads of their rows."""
    found: list[dict[str, Any]] = []
    high = 0
    for title, panels in rows:
        head = {"h": 1, "w": WIDE, "x": 0, "y": high}
        found.append({"id": len(found) + 1, "type": "row", "title": title, "gridPos": head,
                      "collapsed": False, "panels": []})  # fmt: skip
        high += 1
        each = min(3, len(panels)) if len(panels) != 4 else 2
        wide = WIDE // each
        for number, panel in enumerate(panels):
            place = {
                "h": HIGH,
                "w": wide,
                "x": number % each * wide,
                "y": high + number // each * HIGH,
            }
            found.append({"id": len(found) + 1, "gridPos": place, **picture(panel)})
        high += -(-len(panels) // each) * HIGH
    return found


def picture(panel: Panel) -> dict[str, Any]:
    """One panel."""
    table = panel.kind == "table"
    shape = {"lineWidth": 1, "fillOpacity": 25 if panel.stacked else 5, "showPoints": "never",
             "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"}}  # fmt: skip
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.says,
        "datasource": SOURCE,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "custom": {} if table else shape},
            "overrides": [],
        },
        "options": {} if table else {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": chr(65 + number), "datasource": SOURCE, "expr": expression,
             "legendFormat": legend, "instant": table, **({"format": "table"} if table else {})}
            for number, (expression, legend) in enumerate(panel.drawn)
        ],
    }  # fmt: skip


def variables() -> list[dict[str, Any]]:
    """What is chosen at the head of the dashboard."""
    source = {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}
    asked = {
        "instance": "label_values(headgate_build_info, instance)",
        "rule": f"label_values(headgate_decisions_total{{{HERE}}}, rule)",
        "route": f"label_values(headgate_http_requests_total{{{HERE}}}, route)",
    }
    return [source, *(
        {"name": name, "label": name.capitalize(), "type": "query", "datasource": SOURCE,
         "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True,
         "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}
        for name, query in asked.items()
    )]  # fmt: skip


def marks() -> list[dict[str, Any]]:
    """What is marked in every picture."""
    told = (
        ("Alerts", f"headgate_alert{{{HERE}}} == 1", "red", "{{name}} {{rule}}"),
        ("New rules", f"changes(headgate_config_last_reload_timestamp_seconds{{{HERE}}}[1m]) > 0",
         "blue", "new rules at {{instance}}"),
    )  # fmt: skip
    return [
        {"name": name, "datasource": SOURCE, "enable": True, "expr": expression,
         "iconColor": colour, "titleFormat": title, "step": "15s"}
        for name, expression, colour, title in told
    ]  # fmt: skip
