"""Readings made up for tests: what is not said has its empty value."""

from __future__ import annotations

from typing import Any

from headgate.rules.model.rules import Rules
from headgate.telemetry.reading import Reading
from headgate.telemetry.survey import blank

RULE = {
    "mode": "enforce", "rollout": 100.0, "key": "", "terms": [], "allowed": 0, "delayed": 0,
    "refused": 0, "failed_open": 0, "failed_closed": 0, "shadowed": 0, "near": 0,
    "units_allowed": 0, "units_refused": 0, "waited": 0.0, "sampled": 0, "wrong": 0, "limit": None,
    "inside": 0, "waiting": 0, "queue": 0, "breaker": "",
}  # fmt: skip
WORKER = {
    "slot": 0, "pid": 1, "up": True, "start": 0.0, "restarts": 0, "connections": 0, "requests": 0,
}  # fmt: skip


def reading(rules: Any = (), **said: Any) -> Reading:
    """A reading; of each rule, and of the store and the rest, only what is said is not empty."""
    found: Any = blank(Rules(), "gateway", 0)
    found["workers"] = [{**WORKER}]
    found["rules"] = {name: {**RULE, **one} for name, one in dict(rules).items()}
    for word, given in said.items():
        mixed = isinstance(given, dict) and isinstance(found[word], dict)
        found[word] = {**found[word], **given} if mixed else given
    checked: Reading = found
    return checked
