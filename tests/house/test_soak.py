"""The soak is run to its end, says what failed, and its sample has something of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import soak
from soak import Case, Outcome, Part
from tests import soak_sample

GOOD = "def test_good(): pass\n"
BAD = "class TestBad:\n    def test_bad(self): assert not 'good'\n"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs within these tests need no plugins, and begin sooner without."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def part(folder: Path, name: str, text: str, minutes: float = 5) -> Part:
    """A part with one module of tests, run without the settings of this project."""
    module = folder / f"test_{name}.py"
    module.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return Part(
        name, ("-q", "-p", "no:cacheprovider", "-c", f"{folder}/pytest.ini", str(module)), minutes
    )


def test_failure_does_not_keep_the_next_part_from_running(tmp_path: Path) -> None:
    chosen = [part(tmp_path, "first", BAD), part(tmp_path, "second", GOOD)]

    first, second = soak.run_soak(chosen, 2, tmp_path)

    assert [(case.node, case.failed) for case in first.cases] == [
        ("test_first.TestBad test_bad", True)
    ]
    assert [(case.node, case.failed) for case in second.cases] == [("test_second test_good", False)]
    assert [first.trouble, second.trouble] == ["", ""]
    assert soak.has_failed([first])
    assert not soak.has_failed([second])


@pytest.mark.parametrize(
    ("text", "minutes", "trouble"),
    [
        ("import nothing_of_that_name\n", 5, "pytest ended with 2"),
        ("", 5, "no test was recorded (pytest ended with 5)"),
        (GOOD, 0, "stopped after 0 minutes"),
    ],
    ids=["broken", "empty", "late"],
)
def test_part_that_is_not_whole_is_a_failure(
    tmp_path: Path, text: str, minutes: float, trouble: str
) -> None:
    (outcome,) = soak.run_soak([part(tmp_path, "only", text, minutes)], 2, tmp_path)

    assert outcome.trouble == trouble
    assert soak.has_failed([outcome])


def test_record_of_an_earlier_soak_is_not_taken_for_this_one(tmp_path: Path) -> None:
    (tmp_path / "only.xml").write_text("<testsuites><testcase name='old'/></testsuites>")

    (outcome,) = soak.run_soak([part(tmp_path, "only", GOOD, 5)], 2, tmp_path)

    assert [case.node for case in outcome.cases] == ["test_only test_good"]


@pytest.mark.parametrize(
    ("classname", "name", "node"),
    [
        ("tests.house.test_soak", "test_a[b.c-1]", "tests/house/test_soak.py::test_a[b.c-1]"),
        ("tests.house.test_soak.TestIt", "test_a", "tests/house/test_soak.py::TestIt::test_a"),
        ("", "tests.house.test_gone", "tests.house.test_gone"),
    ],
)
def test_failures_are_named_as_pytest_takes_them(classname: str, name: str, node: str) -> None:
    assert soak.node_id(classname, name) == node


def test_summary_names_every_failure_once_and_the_time_of_each_part() -> None:
    long, gateway = Part("long", (), 40), Part("gateway", (), 10)
    cases = [Case("a::b", True, 3.0), Case("a::b", True, 0.0), Case("a::c", False, 70.0)]
    outcomes = [
        Outcome(long, cases, 90.0, ""),
        Outcome(gateway, [], 600.0, "stopped after 10 minutes"),
    ]

    assert [*soak.summarize(outcomes)] == [
        "\n--- the slowest 3 tests",
        "    70.0 s  a::c",
        "     3.0 s  a::b",
        "     0.0 s  a::b",
        "\n--- the parts",
        "   1.5 min  long: 3 tests, 1 failed",
        "  10.0 min  gateway: stopped after 10 minutes",
        "\n--- failed",
        "a::b",
        "part gateway: stopped after 10 minutes",
    ]


def test_parts_together_end_within_an_hour() -> None:
    assert sum(part.minutes for part in soak.parts(2)) <= 60


def test_same_seed_chooses_the_same_modules_and_another_seed_others() -> None:
    first, again, other = map(soak_sample.choose_modules, (1, 1, 2))

    assert first == again
    assert first != other


@pytest.mark.parametrize("seed", range(3))
def test_sample_has_modules_of_each_kind(seed: int) -> None:
    modules = soak_sample.choose_modules(seed)

    assert {name: len(paths) for name, paths in modules.items()} == {
        kind.name: soak_sample.MODULES_PER_KIND for kind in soak_sample.KINDS
    }


@pytest.mark.parametrize("start", soak_sample.LEFT_TO_SOAK)
def test_everything_that_the_sample_leaves_out_is_still_there(start: str) -> None:
    module, _, test = start.partition("::")
    paths = [*soak_sample.TESTS.glob(f"{module}*")]

    assert paths
    assert not test or f"def {test}" in paths[0].read_text()
