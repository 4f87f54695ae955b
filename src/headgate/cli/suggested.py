"""Suggested: which limits were found, for people at a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headgate.cli.replayed import read
from headgate.cli.report import Row, draw, screen
from headgate.cli.trouble import harmless

Say = Callable[[str], object]
WORDS = {"s": "in a second", "min": "in a minute", "h": "in an hour", "day": "in a day"}


def show(found: dict[str, Any]) -> None:
    """All of it."""
    console = screen()

    def say(line: str) -> None:
        console.out(harmless(line), highlight=False)

    for one in found.get("files", ()):
        for line in read(one):
            say(line)
    if "limits" in found:
        limits(console, say, found["limits"])
    if found.get("knee") is not None:
        knee(console, say, found["knee"])


def limits(console: Any, say: Say, found: dict[str, Any]) -> None:
    """How often keys ask, and which limits would do."""
    keys = f", {found['keys']:,} keys" if found["keys"] > 1 else ""
    say(f"{found['requests']:,} requests{keys} ({found['key']})")
    if found["best"] is None:
        say("nothing was asked that a limit could be about")
        return
    if found["sampled"]:
        say(f"so many keys were not all followed; shares are right to {found['error']:.3%} (95 %)")
    shares = [*found["busiest"]["s"]][0 if found["keys"] > 1 else -1 :]
    rows: list[Row] = [
        ([WORDS[word]], *([f"{table[share]:,}"] for share in shares))
        for word, table in found["busiest"].items()
    ]
    say("")
    say("the most that a key asked, for so large a share of keys:")
    draw(console, ("", *shares), rows)
    say("")
    say(f"limits that touch at most {found['touch']:.3%} of {found['of']}:")
    rows = [
        ([one["limit"] + (" *" if one == found["best"] else "")], [f"{one['touched']:.3%}"],
         [f"{one['wait']:g} s"])
        for one in nearest(found["options"], found["best"])
    ]  # fmt: skip
    draw(console, ("limit", "touches", "a queue of that size waits"), rows)
    say("")
    say("to begin with, in shadow:")
    ruled(say, found["rule"])


def nearest(options: list[dict[str, Any]], best: dict[str, Any]) -> list[dict[str, Any]]:
    """The best of them, and some on both sides."""
    place = options.index(best)
    return options[max(0, place - 4) : place + 4]


def knee(console: Any, say: Say, found: dict[str, Any]) -> None:
    """How many at once, and whether to rely on it."""
    rows: list[Row] = [
        (
            [f"{one['concurrency']:.4g}"],
            [f"{one['throughput']:.4g}"],
            [f"{one['latency'] * 1000:.4g}"],
        )
        for one in found["points"]
    ]
    if rows:
        draw(console, ("at once", "a second", "ms each"), rows)
    say("")
    if found["concurrency"] is not None:
        say(
            f"the knee is at {found['concurrency']:g} at once (two lines; Kneedle says "
            f"{found['kneedle']:g}), where one takes {found['latency'] * 1000:.4g} ms; at most "
            f"{found['throughput']:.4g} were served in a second"
        )
    for flaw in found["flaws"]:
        say(f"a fixed number is not safe: {flaw}")
    ruled(say, found["rule"])


def ruled(say: Say, rule: dict[str, Any]) -> None:
    """A rule as it stands in a file."""
    say("rules:")
    for place, (word, value) in enumerate(rule.items()):
        plain = isinstance(value, (int, float)) or (isinstance(value, str) and simple(value))
        say(f"  {'- ' if place == 0 else '  '}{word}: {value if plain else json.dumps(value)}")


def simple(value: str) -> bool:
    """Whether YAML takes it for a text as it stands."""
    return value.replace(" ", "").replace("/", "").replace(".", "").replace("-", "").isalnum()
