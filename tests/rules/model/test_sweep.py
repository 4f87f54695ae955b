"""Every field of every table, broken in every way: each is found, in its place, and helps.

The files are made from one that uses every field. A gatekeeper at work is given each of them, and
goes on by the rules it had.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path as File
from statistics import median

import pytest

from headgate import ManualClock
from headgate.errors import Problem, RulesError
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from tests.conftest import SCALE
from tests.rules.model.forms import Mark, Path, Written, as_json, yaml
from tests.rules.model.mutations import (
    TABLES,
    WRONG,
    Broken,
    absent,
    doubled,
    impossible,
    misspelled,
    mistaken,
    nodes,
)
from tests.rules.model.rich import RICH

KINDS = [*WRONG, "misspelled", "absent", "doubled", "impossible"]
LEAST = 1500
# Seconds of CPU: what a file may take, and what one in the middle may.
MOST, USUAL = 1.0, 0.02
# A message says what would be right: a kind, a hint, or what is missing.
HELPFUL = re.compile(
    r"is .+, not |lacks \".+\", which is |lacks \"version\"; write |there is no such \w+; "
    r"|; (try|write|did you mean|leave|say|choose|keep|at (most|least)|there (is|are)) "
    r"|is for .+, not for |is from .+ to .+, not |is .+ or more, not |stands twice"
    r"|a (list of )?1 to |a method is one |a header's \w+ is |characters; at most "
    r"|means nothing here|is about .+, and |is the name of |has no .+ to change"
    r"|is a value, or a list of"
)
RULES = "version: 1\nrules:\n  - {name: old, key: client.ip, limit: 3/min}\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_break_a_file_is_found_in_its_place(kind: str, tmp_path: File) -> None:
    keeper = opened(tmp_path)
    version, spent, wrong = keeper.version, [], []
    for number, case in enumerate(chosen(kind)):
        written = yaml(case.data, case.twice)
        (tmp_path / "new.yaml").write_text(written.text)
        begun = time.process_time()
        problems = refused(keeper, str(tmp_path / "new.yaml"))
        spent.append(time.process_time() - begun)
        wrong += [f"{case.label}: {flaw}" for flaw in flaws(case, written, problems)]
        assert keeper.version == version
        assert keeper.enter(Request("GET", "/", client=f"10.0.{number >> 8}.{number & 255}"))

    assert wrong == []
    assert max(spent) < MOST
    assert median(spent) < USUAL


@pytest.mark.parametrize("kind", ["null", "number", "list", "misspelled", "absent", "impossible"])
def test_the_same_is_found_in_json(kind: str) -> None:
    wrong = []
    # The same reader for all forms, so not every case is needed again.
    for case in [*broken(kind)][::7]:
        written = as_json(case.data)
        try:
            Rules.read(written.text, "json", "rules.json")
        except RulesError as error:
            wrong += [f"{case.label}: {flaw}" for flaw in flaws(case, written, error.problems)]
        else:
            wrong.append(f"{case.label}: not found")

    assert wrong == []


def test_there_are_more_than_enough_of_them() -> None:
    counts = {kind: sum(1 for _ in broken(kind)) for kind in KINDS}

    assert sum(counts.values()) >= LEAST, counts
    assert min(counts.values()) >= 15, counts


def test_what_is_not_broken_by_a_mutation_is_listed_with_a_reason() -> None:
    good = [case for kind in WRONG for case in mistaken(kind) if case.good]

    # `make soak` reads all of them.
    for case in good[:: 1 if SCALE > 1 else 3]:
        Rules.read(yaml(case.data).text)
    assert len(good) > 100


@pytest.mark.parametrize("cls", TABLES)
def test_the_file_they_are_made_from_uses_every_field(cls: type) -> None:
    used = {path[-1] for path, _ in nodes(RICH)}

    assert {one.name for one in fields(cls)} - used == set()


def test_a_gatekeeper_that_was_given_broken_files_takes_a_good_one(tmp_path: File) -> None:
    keeper = opened(tmp_path)
    refused(keeper, str(tmp_path / "none.yaml"))
    (tmp_path / "new.yaml").write_text(RULES.replace("3/min", "1/min"))

    keeper.change(str(tmp_path / "new.yaml"))

    verdicts = [bool(keeper.enter(Request("GET", "/", client="192.0.2.1"))) for _ in range(2)]
    assert verdicts == [True, False]


def broken(kind: str) -> Iterator[Broken]:
    """The files of one kind; those that are good after all are left out."""
    others = {"misspelled": misspelled, "absent": absent, "doubled": doubled}
    others["impossible"] = impossible
    cases = others[kind]() if kind in others else mistaken(kind)
    return (case for case in cases if not case.good)


def chosen(kind: str) -> Iterator[Broken]:
    """What `make soak` tries all of: every place gets every twelfth wrong value, as others of its
    type get those between, and every value is in every twelfth place. Of the four ways to misspell
    a name, every other name has one, and they take turns.
    """
    if kind == "misspelled" and SCALE == 1:
        return islice(broken(kind), 0, None, 9)
    if SCALE > 1 or kind not in WRONG:
        return broken(kind)
    return islice(broken(kind), [*WRONG].index(kind) % 12, None, 12)


def opened(folder: File) -> Gatekeeper:
    """A gatekeeper at work."""
    (folder / "old.yaml").write_text(RULES)
    return Gatekeeper(str(folder / "old.yaml"), clock=ManualClock())


def refused(keeper: Gatekeeper, file: str) -> tuple[Problem, ...]:
    """What a gatekeeper finds wrong with a file; nothing if it goes by it from now on."""
    try:
        keeper.change(file)
    except RulesError as error:
        return error.problems
    return ()


def flaws(case: Broken, written: Written, problems: tuple[Problem, ...]) -> Iterator[str]:
    """What is wrong with what was said."""
    if not problems:
        yield "not found"
        return
    first = problems[0]
    if (first.line, first.column) not in places(case, written):
        yield f"{first} is not at {places(case, written)}"
    if not case.hint:
        if not HELPFUL.search(first.message):
            yield f"{first} does not help"
    elif case.hint not in first.message:
        yield f"{first} does not say {case.hint}"
    if not case.below and len(problems) > 1:
        yield f"{problems[1:]} are not wrong"


def places(case: Broken, written: Written) -> set[Mark]:
    """Where the first problem may be."""
    marks = written.keys if case.key else written.values
    found = {marks[case.at]}
    if case.below:
        everything = chain(written.values.items(), written.keys.items())
        found |= {mark for path, mark in everything if inside(path, case.at)}
    return found


def inside(path: Path, at: Path) -> bool:
    """Whether one way goes on where another ends."""
    return path[: len(at)] == at
