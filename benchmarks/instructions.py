"""Benchmark of machine instructions per decision: a yardstick for refactorings.

Times on a shared machine drift; instructions under valgrind do not. Every row is counted for the
installed package (compiled) and for a copy of it without compiled modules (interpreted), over
public calls and sockets only. Prints a table, writes `results/instructions.json`, and compares with
the committed numbers in `instructions.json`. README.md says what is counted, and how.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import Any

from callgrind import MAX_SPREAD, TOLERANCE, Figure, find_missing_tools, kill_processes
from instruction_rows import (
    FORMS,
    Installation,
    Row,
    current_python,
    explain_failure,
    find_redis,
    list_rows,
    measure_group,
    read_installation,
)

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "instructions.json"
COMMITTED = HERE / "instructions.json"
# What takes longest goes first, so that the last two processes end at about the same time.
SLOWEST_FIRST = ("serve", "gateway", "serve, many rules", "gateway, many rules", "calls", "redis")
# With --assert, a row that takes so much more than before is a regression.
THRESHOLD = 0.02
Results = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A row in one form, and what it was before; `before` is 0 where it was not counted."""

    row: str
    form: str
    now: float
    before: float

    @property
    def ratio(self) -> float:
        """How many times as many instructions as before."""
        return self.now / self.before

    @property
    def verdict(self) -> str:
        """`more` or `fewer` for a difference above the tolerance, `new` for a row without one."""
        if not self.before:
            return "new"
        if abs(self.ratio - 1) <= TOLERANCE:
            return ""
        return "more" if self.ratio > 1 else "fewer"

    def is_regression(self, threshold: float) -> bool:
        """Whether it takes more than `threshold` more than before."""
        return bool(self.before) and self.ratio > 1 + threshold


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print and compare; 0, or 1 if rows failed, or with `--assert` if one regressed."""
    options = parse_options(arguments)
    rows = select_rows(list_rows(), options.only)
    if options.list:
        print(*(row.name for row in rows), sep="\n")
        return 0
    if missing := find_missing_tools():
        print(f"nothing is counted: {' and '.join(missing)} not found: apt install valgrind")
        return 1 if vars(options)["assert"] else 0
    # Asked to end, we end as after an error, and take our processes along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    installed, facts = read_installation(options.python)
    results = run(rows, options.form or FORMS, installed, options.jobs)
    results = {**facts, **results}
    for line in list_table(results):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    regressed = False
    if options.compare is not None:
        regressed = print_comparison(results, options.compare, options.threshold)
    return 1 if results["failed"] or (regressed and vars(options)["assert"]) else 0


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="PATTERN",
        help="only rows whose name contains or matches PATTERN; may be given again")  # fmt: skip
    add("--form", action="append", choices=FORMS, help="only this form")
    add("--list", action="store_true", help="print the names of the rows, and end")
    add("--json", type=Path, default=RESULTS, metavar="PATH")
    add("--compare", type=Path, nargs="?", const=COMMITTED, metavar="PATH",
        help="compare with these numbers; with the committed ones unless said")  # fmt: skip
    add("--assert", action="store_true", help="with --compare, exit with 1 on a regression")
    add("--threshold", type=float, default=THRESHOLD, metavar="SHARE",
        help=f"what is a regression; {THRESHOLD} unless said")  # fmt: skip
    add("--python", default=current_python(), metavar="PATH",
        help="count the package that this interpreter has installed")  # fmt: skip
    add("--jobs", type=int, default=2, help="processes at a time")
    options = parser.parse_args(arguments)
    if vars(options)["assert"] and options.compare is None:
        options.compare = COMMITTED
    return options


def select_rows(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """The rows that a pattern is part of or matches; all without patterns."""
    return [
        row
        for row in rows
        if not patterns or any(part in row.name or fnmatch(row.name, part) for part in patterns)
    ]


def run(rows: Sequence[Row], forms: Sequence[str], installed: Installation, jobs: int) -> Results:
    """Count all rows in all forms, several groups at a time."""
    found: dict[tuple[str, str], Figure] = {}
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    lock = threading.Lock()

    def measure(group: str, form: str) -> None:
        def report(row: Row, figure: Figure) -> None:
            with lock:
                found[row.name, form] = figure
            line = f"{row.name}, {form}: {figure.instructions:,.0f} +- {figure.spread:.2%}"
            print(line, file=sys.stderr, flush=True)

        try:
            measure_group([row for row in rows if row.group == group], form, installed, report)
        except Exception as problem:
            with lock:
                failed[f"{group} ({form})"] = explain_failure(problem)

    wanted = [group for group in SLOWEST_FIRST if any(row.group == group for row in rows)]
    tasks = [(group, form) for group in wanted for form in forms]
    possible = []
    for group, form in tasks:
        if reason := find_obstacle(group, form, installed):
            skipped[f"{group} ({form})"] = reason
        else:
            possible.append((group, form))
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(measure, *task) for task in possible]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kill_processes()
            raise
    return {"rows": arrange_figures(rows, forms, found), "skipped": skipped, "failed": failed}


def find_obstacle(group: str, form: str, installed: Installation) -> str:
    """Why a group cannot be counted here; empty if it can."""
    if form == "compiled" and not installed.compiled:
        return "the installed package is not compiled"
    if group == "redis" and not find_redis():
        return "there is no redis-server or valkey-server on PATH"
    return ""


def arrange_figures(
    rows: Sequence[Row], forms: Sequence[str], found: Mapping[tuple[str, str], Figure]
) -> dict[str, dict[str, Any]]:
    """Figures by row and form, in the order of the table."""
    return {
        row.name: {
            form: found[row.name, form].as_json() for form in forms if (row.name, form) in found
        }
        for row in rows
        if any((row.name, form) in found for form in forms)
    }


def list_table(results: Results) -> Iterator[str]:
    """The lines to print: what it was counted on, a line for each row, and what to doubt."""
    yield from describe(results["machine"])
    yield ""
    yield f"{'instructions of a decision':40}{'compiled':>12}{'interpreted':>14}"
    for _, group in groupby(results["rows"].items(), lambda row: row[0].partition(",")[0]):
        for name, figures in group:
            cells = [figures.get(form, {}).get("instructions") for form in FORMS]
            first, second = ("" if cell is None else f"{cell:,.0f}" for cell in cells)
            yield f"{name:40}{first:>12}{second:>14}"
    for name, figures in results["rows"].items():
        for form, figure in figures.items():
            if figure["spread"] > MAX_SPREAD:
                yield (
                    f"not repeatable within {TOLERANCE:.1%}: {name}, {form}: half of the segments "
                    f"are off by more than {figure['spread']:.1%}; {figure['background']:.1%} of "
                    "what was counted are timers, which were subtracted by an estimate"
                )
    for name, reason in (results["skipped"] | results["failed"]).items():
        yield f"not counted: {name}: {reason}"


def describe(machine: Mapping[str, str]) -> Iterator[str]:
    """The machine and the toolchain, a few facts on a line."""
    line = ""
    for fact in (f"{name} {value}" for name, value in machine.items() if value):
        if line and len(line) + len(fact) > 96:
            yield f"{line},"
            line = ""
        line = f"{line}, {fact}" if line else fact
    yield line


def compare(now: Results, before: Results) -> list[Comparison]:
    """Every row and form that was counted now, beside what it was."""
    found = []
    for name, figures in now["rows"].items():
        known = before["rows"].get(name, {})
        found += [
            Comparison(
                name, form, figure["instructions"], known.get(form, {}).get("instructions", 0.0)
            )
            for form, figure in figures.items()
        ]
    return found


def list_differences(now: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    """What differs between two machines, as lines."""
    for name in dict.fromkeys([*now, *before]):
        if now.get(name, "") != before.get(name, ""):
            yield f"{name}: {now.get(name) or 'nothing'}, was {before.get(name) or 'nothing'}"


def print_comparison(results: Results, path: Path, threshold: float) -> bool:
    """Print the ratio of each row; whether one of them is a regression."""
    if not path.exists():
        print(f"\nnothing to compare with: {path} does not exist")
        return False
    before = json.loads(path.read_text())
    differences = [*list_differences(results["machine"], before["machine"])]
    print(f"\ncompared with {path.name}")
    if differences:
        print("counted on another machine or with other tools, so ratios may not tell of the code:")
        print(*(f"  {line}" for line in differences), sep="\n")
    compared = compare(results, before)
    for one in compared:
        ratio = f"{one.ratio:8.4f}" if one.before else " " * 8
        counts = f"{one.before:>12,.0f} ->{one.now:>12,.0f}"
        print(f"{one.row:38} {one.form:12}{counts}{ratio}  {one.verdict}".rstrip())
    changed = sum(one.verdict in {"more", "fewer"} for one in compared)
    regressed = [one for one in compared if one.is_regression(threshold)]
    print(
        f"{changed} of {len(compared)} differ by more than {TOLERANCE:.1%}, "
        f"{len(regressed)} take more than {threshold:.1%} more"
    )
    return bool(regressed)


if __name__ == "__main__":
    sys.exit(main())
