"""The benchmark of machine instructions computes, compares and counts as it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def callgrind(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("callgrind")


@pytest.fixture
def instructions(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("instructions")


def test_figure_subtracts_the_segment_without_decisions(callgrind: Any) -> None:
    segments = [callgrind.Segment(10, 1_500), callgrind.Segment(20, 2_500)]

    figure = callgrind.compute_figure(callgrind.Segment(0, 500), None, segments)

    assert (figure.instructions, figure.spread, figure.background) == (100.0, 0.0, 0.0)


def test_figure_subtracts_what_timers_cost_in_the_time_of_a_segment(callgrind: Any) -> None:
    zero, idle = callgrind.Segment(0, 50, 0.5), callgrind.Segment(0, 300, 3.0)
    segments = [callgrind.Segment(10, 1_150, 1.5), callgrind.Segment(10, 1_450, 4.5)]

    figure = callgrind.compute_figure(zero, idle, segments)

    assert figure.instructions == pytest.approx(100.0)
    assert figure.background == pytest.approx((100 + 400) / 2_600)


def test_figure_takes_no_part_of_an_odd_segment(callgrind: Any) -> None:
    counts = [1_000, 1_000, 9_000, 1_001, 1_000]
    segments = [callgrind.Segment(10, count) for count in counts]

    figure = callgrind.compute_figure(callgrind.Segment(0, 0), None, segments)

    assert (figure.instructions, figure.settled) == (100.0, True)


def test_figure_is_not_settled_if_segments_disagree(callgrind: Any) -> None:
    segments = [callgrind.Segment(10, count) for count in (1_000, 1_010, 1_020, 1_030)]

    assert not callgrind.compute_figure(callgrind.Segment(0, 0), None, segments).settled


@pytest.mark.parametrize(
    ("now", "before", "verdict", "regression"),
    [
        (1_004.9, 1_000, "", False),
        (1_006, 1_000, "more", False),
        (994, 1_000, "fewer", False),
        (1_021, 1_000, "more", True),
        (500, 1_000, "fewer", False),
        (500, 0, "new", False),
    ],
)
def test_comparison_judges_the_ratio(
    instructions: Any, now: float, before: float, verdict: str, regression: bool
) -> None:
    comparison = instructions.Comparison("row", "compiled", now, before)

    assert (comparison.verdict, comparison.is_regression(0.02)) == (verdict, regression)


def test_results_are_compared_with_a_file(
    instructions: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before.json"
    before.write_text(json.dumps(build_results(100.0, "valgrind-3.19.0")))

    regressed = instructions.print_comparison(build_results(103.0, "valgrind-3.20.0"), before, 0.02)

    printed = capsys.readouterr().out
    assert regressed
    assert "valgrind: valgrind-3.20.0, was valgrind-3.19.0" in printed
    assert "1 of 1 differ by more than 0.5%, 1 take more than 2.0% more" in printed


def test_same_results_are_no_regression(
    instructions: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before.json"
    results = build_results(100.0, "valgrind-3.19.0")
    before.write_text(json.dumps(results))

    assert not instructions.print_comparison(results, before, 0.02)
    assert "another machine" not in capsys.readouterr().out


def test_committed_numbers_have_every_row_in_both_forms(instructions: Any) -> None:
    committed = json.loads((BENCHMARKS / "instructions.json").read_text())

    names = [row.name for row in instructions.list_rows()]
    assert list(committed["rows"]) == names
    assert {tuple(figures) for figures in committed["rows"].values()} == {instructions.FORMS}


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind: apt install valgrind")
def test_a_row_is_counted_and_compared(tmp_path: Path) -> None:
    counted = tmp_path / "counted.json"
    line = [sys.executable, str(BENCHMARKS / "instructions.py"), "--only", "floor"]
    line += ["--form", "interpreted", "--json", str(counted), "--compare"]

    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=240)

    assert done.returncode == 0, done.stderr
    figure = json.loads(counted.read_text())["rows"]["floor, a method call"]["interpreted"]
    assert 50 < figure["instructions"] < 5_000
    assert figure["spread"] < 0.005
    assert "floor, a method call" in done.stdout


def build_results(instructions: float, valgrind: str) -> dict[str, Any]:
    """Results with one row."""
    figure = {"instructions": instructions, "spread": 0.0, "background": 0.0}
    return {"machine": {"valgrind": valgrind}, "rows": {"row": {"compiled": figure}}, "failed": {}}
