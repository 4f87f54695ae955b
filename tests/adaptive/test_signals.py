"""Signals: what the kernel's files say, of a container of either version or of the machine."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from headgate import ManualClock
from headgate.adaptive.signals import Machine, Signal

GROUP = "sys/fs/cgroup"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(100.0)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def version_two(used: int, quota: str = "50000 100000") -> dict[str, str]:
    return {
        "proc/self/cgroup": "0::/box\n",
        f"{GROUP}/box/cpu.max": f"{quota}\n",
        f"{GROUP}/box/cpu.stat": f"usage_usec {used}\nuser_usec 1\n",
    }


def version_one(used: int) -> dict[str, str]:
    return {
        "proc/self/cgroup": "4:cpu,cpuacct:/box\n3:memory:/box\n",
        f"{GROUP}/cpu,cpuacct/box/cpu.cfs_quota_us": "50000\n",
        f"{GROUP}/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
        f"{GROUP}/cpu,cpuacct/box/cpuacct.usage": f"{used * 1000}\n",
    }


@pytest.mark.parametrize("version", [version_one, version_two])
def test_a_container_is_as_busy_as_the_part_of_its_quota_that_it_used(
    tmp_path: Path, clock: ManualClock, version: object
) -> None:
    machine = Machine(str(tmp_path), clock)
    write(tmp_path, version(1_000_000))  # type: ignore[operator]
    first = machine.cpu()
    # In two seconds half a CPU has one second of CPU time; three quarters of it were used.
    clock.advance(2.0)
    write(tmp_path, version(1_750_000))  # type: ignore[operator]

    assert (first, machine.cpu()) == (0.0, 0.75)


def test_a_quota_of_a_group_above_counts_as_well(tmp_path: Path, clock: ManualClock) -> None:
    machine = Machine(str(tmp_path), clock)
    files = version_two(0) | {
        "proc/self/cgroup": "0::/box/inner\n",
        f"{GROUP}/box/inner/cpu.max": "max 100000\n",
        f"{GROUP}/box/inner/cpu.stat": "usage_usec 5\n",
    }
    write(tmp_path, files)
    machine.cpu()
    clock.advance(1.0)
    write(tmp_path, {f"{GROUP}/box/cpu.stat": "usage_usec 250000\n"})

    assert machine.cpu() == 0.5


def test_without_a_quota_the_whole_machine_counts(tmp_path: Path, clock: ManualClock) -> None:
    machine = Machine(str(tmp_path), clock)
    write(tmp_path, version_two(0, "max 100000"))
    # user nice system idle iowait irq softirq steal
    write(tmp_path, {"proc/stat": "cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n"})
    machine.cpu()
    write(tmp_path, {"proc/stat": "cpu 200 0 250 780 100 0 0 20 0 0\n"})

    # Of 350 ticks, 80 were idle.
    assert machine.cpu() == pytest.approx(270 / 350)


def test_memory_is_what_is_in_use_without_what_is_only_cached(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        f"{GROUP}/box/memory.max": "1000\n",
        f"{GROUP}/box/memory.current": "900\n",
        f"{GROUP}/box/memory.stat": "anon 5\ninactive_file 300\n",
    }
    write(tmp_path, files)

    assert Machine(str(tmp_path)).memory() == pytest.approx(0.6)


def test_memory_without_a_limit_is_that_of_the_machine(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        f"{GROUP}/box/memory.max": "max\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n",
    }
    write(tmp_path, files)

    assert Machine(str(tmp_path)).memory() == pytest.approx(0.75)


def test_load_is_that_of_each_cpu(tmp_path: Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    write(tmp_path, {"proc/loadavg": f"{1.5 * cpus} 0.1 0.1 1/100 5\n"})

    assert Machine(str(tmp_path)).load() == pytest.approx(1.5)


@pytest.mark.parametrize("text", ["", "nonsense", "cpu x y z\n", "\0\0"])
def test_files_that_say_nothing_say_that_nothing_is_in_use(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"proc/self/cgroup": "0::/\n", "proc/stat": text, "proc/meminfo": text})
    write(tmp_path, {"proc/loadavg": text})
    machine = Machine(str(tmp_path))

    assert all(0.0 <= read() <= 1e6 for read in (machine.cpu, machine.cpu, machine.load))
    assert machine.memory() == 0.0


def test_the_mean_arrives_where_the_readings_are() -> None:
    # Cut to whole numbers, a mean of 0 and 1 per cent would stay at 0 for ever.
    signal = Signal(lambda: 0.01)
    for _ in range(60):
        signal.take(0.25)

    assert signal.value == pytest.approx(0.01)


def test_a_signal_is_read_by_a_thread_of_its_own_and_asking_costs_no_reading() -> None:
    read = threading.Event()
    threads = []

    def reading() -> float:
        threads.append(threading.get_ident())
        read.set()
        return 0.5

    signal = Signal(reading, every=3600.0)
    signal()
    read.wait(10)
    before = len(threads)
    for _ in range(100):
        signal()

    assert (before, len(threads), threading.get_ident() in threads) == (1, 1, False)


def test_a_reading_that_fails_is_logged_and_the_last_one_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    readings = iter([0.5])
    signal = Signal(lambda: next(readings))
    for _ in range(2):
        signal.take(1.0)

    assert (signal.value, [record.message for record in caplog.records]) == (
        0.5,
        ["a signal could not be read; it stays as it was"],
    )


def test_a_forked_child_reads_by_a_thread_of_its_own() -> None:
    read = threading.Event()
    signal = Signal(lambda: read.set() or 0.25, every=3600.0)  # type: ignore[func-returns-value]
    signal()
    read.wait(10)
    read.clear()
    child = os.fork()
    if not child:
        signal()
        os._exit(0 if read.wait(10) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
