"""CPUs: a process that may run on some of them is as busy as those, and knows its own part."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from headgate import ManualClock
from headgate.adaptive.signals import Machine, allowed


def machine(root: Path, clock: ManualClock) -> Machine:
    return Machine(str(root), clock)


def say(root: Path, busy: dict[int, int], idle: dict[int, int]) -> None:
    lines = [f"cpu{number} {busy[number]} 0 0 {idle[number]} 0 0 0 0 0 0" for number in busy]
    whole = f"cpu  {sum(busy.values())} 0 0 {sum(idle.values())} 0 0 0 0 0 0"
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/stat").write_text("\n".join([whole, *lines, "intr 5", ""]))


@pytest.mark.parametrize(("cpus", "busy"), [({1}, 0.9), ({0}, 0.1), ({0, 1}, 0.5)])
def test_only_the_cpus_count_that_a_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: set[int], busy: float
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus, raising=False)
    found = machine(tmp_path, ManualClock(1.0))
    say(tmp_path, {0: 100, 1: 100}, {0: 100, 1: 100})
    first = found.cpu()
    say(tmp_path, {0: 110, 1: 190}, {0: 190, 1: 110})

    assert (first, found.cpu()) == (0.0, busy)


def test_where_no_line_is_of_its_cpus_the_whole_machine_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {7}, raising=False)
    found = machine(tmp_path, ManualClock(1.0))
    say(tmp_path, {0: 100, 1: 100}, {0: 100, 1: 100})
    found.cpu()
    say(tmp_path, {0: 110, 1: 190}, {0: 190, 1: 110})

    assert found.cpu() == 0.5


def test_a_process_is_as_busy_as_the_part_of_its_cpus_that_it_used_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    clock = ManualClock(100.0)
    found = machine(tmp_path, clock)
    monkeypatch.setattr(os, "times", lambda: SimpleNamespace(user=3.0, system=1.0))
    first = found.process()
    clock.advance(2.0)
    monkeypatch.setattr(os, "times", lambda: SimpleNamespace(user=5.0, system=2.0))

    # Two CPUs had four seconds, of which it used three.
    assert (first, found.process()) == (0.0, 0.75)


def test_there_is_a_cpu_to_run_on() -> None:
    assert allowed()
