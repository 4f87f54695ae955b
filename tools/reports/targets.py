"""The targets of all measurements, and whether they were met."""

from __future__ import annotations

from typing import Any

from reports.words import MADE, filled, number

HEAD = "| target | median | best | |\n| --- | ---: | ---: | --- |\n"


def page(found: dict[str, dict[str, Any]]) -> str:
    """A table for each measurement that has targets."""
    parts = [
        f"## `benchmarks/{name}`\n\n{HEAD}" + "\n".join(map(row, measured["targets"]))
        for name, measured in found.items()
        if measured.get("targets")
    ]
    told = "\n\n".join(parts)
    return filled(f"""\
# Targets

{MADE}

What the benchmarks promise to reach, and what came of it in one run. A machine that others use
misses some that a quiet
one meets; a target that is missed is shown like the others.

{told}
""")


def row(target: dict[str, Any]) -> str:
    met = target.get("met")
    verdict = "not judged" if met is None else "met" if met else "**missed**"
    promise = target["promise"].replace("|", "\\|").replace(">=", "≥").replace("<=", "≤")
    return f"| {promise} | {number(target.get('median'))} | {number(target['value'])} | {verdict} |"
