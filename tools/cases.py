"""List the cases of test runs, and compare two lists.

    python tools/cases.py list build/tests/*.xml > cases.tsv
    python tools/cases.py compare before.tsv after.tsv

A case is a subject (a test function), an input (its parameters) and an outcome. A case that several
runs contain, compiled and interpreted for example, is listed once, with its best outcome: a case
that one form skips and another passes has passed. `compare` prints the cases that only one list
contains and those with another outcome. It exits with 1 if a case is gone or no longer passes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

# From best to worst.
OUTCOMES = ("passed", "skipped", "failed")
Case = tuple[str, str]
Cases = dict[Case, str]


def main(arguments: list[str]) -> int:
    """Run one of the two commands and return its exit status."""
    match arguments:
        case ["list", *files] if files:
            for (subject, given), outcome in sorted(read_reports(map(Path, files)).items()):
                print(subject, given, outcome, sep="\t")
            return 0
        case ["compare", before, after]:
            return compare_lists(read_list(Path(before)), read_list(Path(after)))
        case _:
            print("usage: cases.py list REPORT.xml ..., or cases.py compare BEFORE AFTER")
            return 2


def read_reports(files: Iterable[Path]) -> Cases:
    """Return the cases of JUnit files with their best outcomes."""
    cases: Cases = {}
    for file in files:
        # pytest wrote these files.
        for element in ElementTree.parse(file).iter("testcase"):  # noqa: S314
            name, bracket, parameters = element.get("name", "").partition("[")
            given = parameters.removesuffix("]") if bracket else ""
            case = (f"{element.get('classname')}::{name}", given)
            outcome = min(cases.get(case, "failed"), read_outcome(element), key=OUTCOMES.index)
            cases[case] = outcome
    return cases


def read_outcome(element: ElementTree.Element) -> str:
    """Return the outcome of one `testcase` element."""
    kinds = {child.tag for child in element}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def read_list(file: Path) -> Cases:
    """Return the cases of a list that `list` has printed."""
    rows = (line.split("\t") for line in file.read_text("utf-8").splitlines())
    return {(subject, given): outcome for subject, given, outcome in rows}


def compare_lists(before: Cases, after: Cases) -> int:
    """Print the differences of two lists, and return 1 if the second has lost a case."""
    gone = sorted(before.keys() - after.keys())
    added = sorted(after.keys() - before.keys())
    changed = sorted(case for case in before.keys() & after.keys() if before[case] != after[case])
    worse = [case for case in changed if is_worse(before[case], after[case])]
    for sign, cases in (("-", gone), ("+", added)):
        for subject, given in cases:
            print(sign, f"{subject}[{given}]")
    for subject, given in changed:
        case = (subject, given)
        print("!", f"{subject}[{given}]: {before[case]}, now {after[case]}")
    print(
        f"{len(before)} cases before, {len(after)} after: "
        f"{len(gone)} gone, {len(added)} added, {len(changed)} with another outcome"
    )
    return 1 if gone or worse else 0


def is_worse(before: str, after: str) -> bool:
    """Tell whether an outcome is worse than the one before."""
    return OUTCOMES.index(after) > OUTCOMES.index(before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
