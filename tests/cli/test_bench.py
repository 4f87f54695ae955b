"""`headgate bench`: what is measured is told as it was, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result

import headgate
from headgate.cli.bench.report import spoken
from headgate.cli.bench.rounds import Figures, figures
from headgate.cli.bench.stage import patient, stage
from headgate.cli.bench.stopwatch import Sample
from headgate.cli.program import program
from headgate.stores.shared.store import home

ROWS = [
    "a clock read", "an empty call", "take, let in", "take, refused", "take, one of 50 keys",
    "take, 2 threads at once", "take, awaited by 64 tasks", "take, awaited",
]  # fmt: skip


def bench(*words: str) -> Result:
    return CliRunner().invoke(program, ["bench", "--seconds", "0", *words])


def test_everything_is_measured_beside_what_nobody_can_save() -> None:
    result = bench("--json", "--keys", "50", "--threads", "2")

    said: dict[str, Any] = json.loads(result.stdout)
    assert (result.exit_code, [*said["nanoseconds"]]) == (0, ROWS)
    assert (said["version"], said["compiled"]) == (headgate.__version__, headgate.COMPILED)
    assert (said["store"], said["limits"], said["rounds"]) == ("memory://", [], 5)
    for one in said["nanoseconds"].values():
        assert 0 <= one["least"] <= one["median"]


def test_limits_of_ones_own_are_measured_and_how_much_they_let_in() -> None:
    words = ("--limit", "300/h", "--limit", "400/h", "--by", "sliding_log", "--keys", "1")

    lines = bench(*words).stdout.splitlines()

    assert lines[1] == 'memory://, SlidingLog("300/h") and SlidingLog("400/h"); 5 rounds'
    assert lines[3].split("  ")[0].strip() == ""
    assert [line.partition("  ")[0] for line in lines[4:9]] == [
        "a clock read", "an empty call", "take", "take, awaited by 64 tasks", "take, awaited",
    ]  # fmt: skip
    assert lines[-1] == "Of 1000 in a row, 30.0% were let in."


def test_shared_memory_is_given_back() -> None:
    result = bench("--store", "shared://bench-test", "--keys", "1")

    assert (result.exit_code, "shared://bench-test" in result.stdout) == (0, True)
    assert [*Path(home("x", None)).parent.glob("bench-*")] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--limit", "5/sex"], 2, "Error: Invalid value for '--limit': rate \"5/sex\": unknown "
         'unit "sex" at column 3; try s, min, h or day'),
        (["--store", "redsi://x"], 2, "Error: Invalid value for '--store': \"redsi://x\": did you "
         "mean redis?"),
        (["--store", "redis://127.0.0.1:1"], 1, "headgate: 127.0.0.1:1 cannot be reached: [Errno "
         "111] Connection refused"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said(words: list[str], code: int, said: str) -> None:
    result = bench(*words)

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (code, said)


def test_a_failure_is_said_in_json_as_well() -> None:
    result = bench("--store", "redis://127.0.0.1:1", "--json")

    assert (result.exit_code, json.loads(result.stdout)) == (
        1,
        {"problem": "127.0.0.1:1 cannot be reached: [Errno 111] Connection refused"},
    )


def test_the_loop_is_taken_off_and_the_middle_of_the_rounds_is_told() -> None:
    walls = [30.0, 10.0, 20.0, 1000.0, 25.0]
    samples = {
        "an empty loop": [Sample(wall, 5.0) for wall in (5.0, 6.0, 7.0, 5.0, 5.0)],
        "a clock read": [Sample(20.0, 20.0)] * 5,
        "take": [Sample(wall, wall / 2) for wall in walls],
    }

    found = figures(samples)

    assert found["a clock read"] == Figures(20.0, 20.0, 20.0, 20.0)
    assert found["take"][:2] == (5.0, 20.0)
    assert found["take"].cpu == 7.5
    assert found["take"].most > 500.0


def test_the_least_is_no_more_than_the_middle_where_the_loop_was_disturbed() -> None:
    samples = {
        "an empty loop": [Sample(wall, 5.0) for wall in (5.0, 40.0, 40.0, 40.0, 40.0)],
        "take": [Sample(60.0, 60.0)] * 5,
    }

    assert figures(samples)["take"][:2] == (20.0, 20.0)


@pytest.mark.parametrize(
    ("nanoseconds", "words"), [(87.4, "87 ns"), (9_999.0, "9,999 ns"), (1_467_200, "1,467.2 us")]
)
def test_a_time_is_said_in_a_unit_that_fits(nanoseconds: float, words: str) -> None:
    assert spoken(nanoseconds) == words


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("redis://h", "redis://h?budget=5"),
        ("leased+redis://h?db=1", "leased+redis://h?db=1&budget=5"),
        ("redis://h?budget=1", "redis://h?budget=1"),
    ],
)
def test_a_slow_answer_is_waited_for(url: str, asked: str) -> None:
    assert patient(url) == asked


def test_in_memory_there_is_room_for_all_keys() -> None:
    with stage("memory://", (), "gcra", 300_000, 1) as plan:
        assert plan.store.capacity == 600_000
