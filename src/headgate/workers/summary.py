"""Summary: what all workers have to tell, as if they were one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def together(values: Sequence[Any]) -> Any:
    """Several answers to one question as one: numbers add up, and words stand side by side."""
    if all(isinstance(value, dict) for value in values):
        words = dict.fromkeys(word for value in values for word in value)
        return {
            word: together([value[word] for value in values if word in value]) for word in words
        }
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(isinstance(value, (int, float)) for value in values):
        return sum(values)
    return ", ".join(sorted({str(value) for value in values}))
