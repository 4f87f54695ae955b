"""Summary: what all workers have to tell, as if they were one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.rules.model.rules import Rules
from headgate.telemetry.reading import Reading, WorkerReading
from headgate.telemetry.survey import blank
from headgate.telemetry.union import together, union

# What is said of a worker, and not of the gateway.
OWN = ("slot", "pid", "up", "start", "restarts")


def summary(statuses: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sums of what they counted, and for each who it is."""
    told = [one for one in statuses if "version" in one]
    plain = [{word: given for word, given in one.items() if word not in OWN} for one in told]
    each = [
        {word: one[word] for word in (*OWN, "version", "connections", "requests") if word in one}
        for one in statuses
    ]
    return {**(together(plain) if plain else {}), "workers": each}


def joined(
    found: Sequence[tuple[WorkerReading, dict[str, Any]]], serves: str, rules: Rules, now: int
) -> Reading:
    """What workers see as one reading; where none of them answers, there are only the rules."""
    told: list[Any] = [reading for _, reading in found if reading]
    one = union(told) if told else blank(rules, serves, now)
    one["workers"] = [card for card, _ in found]
    return one
