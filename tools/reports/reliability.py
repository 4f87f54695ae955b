"""What came of the faults, from the records of the test runs (pytest's --junitxml)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from reports.words import MADE, filled, number, table

MATRIX = "test_every_check_is_answered_and_the_store_comes_back"
MODES = ("local", "allow", "deny", "raise")
PARTS = re.compile(r"\[(?P<scene>\w+)-(?P<colour>\w+)-(?P<mode>\w+)]$")
# What is summed up, by the folder of its tests.
FOLDERS = {
    "faults": "servers and networks that misbehave",
    "stores": "stores: floods of keys, kills, forks, clocks",
    "permits": "places that processes share",
    "conformance": "every engine plays the same cases",
    "algorithms": "properties of every algorithm",
    "gateway": "the gateway: what servers and clients get wrong",
    "service": "the service, in each protocol",
    "workers": "workers that are killed, replaced, reloaded",
    "rules": "rules: bad files, changes under load",
    "realtime": "in real time: outages, overload, reloads",
}


class Case(NamedTuple):
    """One test: where it stands, whether it passed, and how long its checks took, in seconds."""

    folder: str
    name: str
    result: str
    checks: tuple[float, ...]


def read(path: Path) -> list[Case]:
    """The cases of a record. It is one of our own test runs, not somebody's file."""
    found = ElementTree.parse(path).iter("testcase")  # noqa: S314
    return [case(one) for one in found]


def case(told: ElementTree.Element) -> Case:
    folder = told.get("classname", "").split(".")[1:2]
    bad = [kind for kind in ("failure", "error", "skipped") if told.find(kind) is not None]
    spans = [
        end - begin
        for one in told.iter("property")
        if one.get("name") == "checks"
        for begin, end in ast.literal_eval(one.get("value", "[]"))
    ]
    return Case("".join(folder), told.get("name", ""), (bad or ["passed"])[0], tuple(spans))


def page(cases: list[Case]) -> str:
    """The page: the matrix of faults, how long checks took, and all the rest in sums."""
    checks = sorted(took for case in cases for took in case.checks)
    within = sum(took <= 0.06 for took in checks)
    return filled(f"""\
# Reliability

{MADE}

What came of one run of the proofs. Servers are real ones, on the loopback, with a proxy in
between that does what networks
do. `make soak` does it again, at ten times the length.

## Faults, and answers to them

Each was played for threads and for event loops: {matrix_size(cases)} plays. In each, what went
in and what was charged was
counted from the history; afterwards the store has to be back, with no thread, task or file left
over.

{matrix(cases)}

[What is decided meanwhile](../operations/failure-matrix.md) is told elsewhere.

## How long checks took

A check may take 50 ms, whatever happens.

| checks under faults | {len(checks):,} |
| --- | ---: |
| within the budget and 10 ms | {within:,} |
| median | {milliseconds(checks, 0.5)} |
| 99 of 100 within | {milliseconds(checks, 0.99)} |
| the longest | {milliseconds(checks, 1.0)} |

Those scenes are in it where the server is given 5 s on purpose, and so are those checks in which
the machine itself stood
still; the tests tell them apart.

## All of them

{sums(cases)}
""")


def matrix_size(cases: list[Case]) -> int:
    return sum(case.name.startswith(MATRIX) for case in cases)


def matrix(cases: list[Case]) -> str:
    """A row for each fault, a column for each answer to an outage."""
    results: dict[str, dict[str, list[str]]] = {}
    for case in cases:
        found = PARTS.search(case.name)
        if case.name.startswith(MATRIX) and found:
            results.setdefault(found["scene"], {}).setdefault(found["mode"], []).append(case.result)
    rows = [
        [scene.replace("_", " "), *(verdict(modes.get(mode, [])) for mode in MODES)]
        for scene, modes in results.items()
    ]
    return table(["the server, or the network", *MODES], rows)


def verdict(results: list[str]) -> str:
    """How many held, of how many."""
    good = results.count("passed")
    return f"{good} of {len(results)}" if results else ""


def milliseconds(checks: list[float], share: float) -> str:
    """The time within which that share of the checks was over."""
    if not checks:
        return ""
    place = min(len(checks) - 1, int(share * len(checks)))
    return f"{number(1000 * checks[place])} ms"


def sums(cases: list[Case]) -> str:
    """How many tests of each kind were run, and how many held."""
    rows = []
    for folder, about in FOLDERS.items():
        found = Counter(case.result for case in cases if case.folder == folder)
        if found:
            bad = found["failure"] + found["error"]
            rows.append(
                [
                    about,
                    f"{sum(found.values()):,}",
                    f"{found['passed']:,}",
                    f"{bad}",
                    f"{found['skipped']}",
                ]
            )
    return table(["", "run", "held", "did not", "skipped"], rows)
