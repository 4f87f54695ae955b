"""Counts machine instructions of processes with valgrind's callgrind.

A command runs under callgrind with every process that it starts. Counting begins on request, so
start-up and warm-up cost little time, and the counters are read (and set to zero) from outside
while the processes wait, through `vgdb`, which valgrind brings along.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)
PIPE = re.compile(r"-from-vgdb-to-(\d+)-")
# Seconds that a process may take to answer vgdb, and to end. Others may keep all cores busy.
ANSWER_TIMEOUT = 120
EXIT_TIMEOUT = 60
# A row is repeatable if two runs differ by less; longer series are measured until it is.
TOLERANCE = 0.005
MAX_SPREAD = TOLERANCE / 2
# Lengths of the counted segments, as multiples of the shortest, which has this many decisions
# at least.
SHORTEST = 20
LENGTHS = (1, 2, 1, 2)
MAX_ROUNDS = 3


@dataclass(frozen=True)
class Segment:
    """What was counted while `decisions` decisions were made, in `seconds` of wall time."""

    decisions: int
    instructions: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Figure:
    """Instructions of one decision.

    `spread` is the median distance of the segments from it, as a share of it. `background` is the
    share of all counted instructions that was subtracted because it depends on time.
    """

    instructions: float
    spread: float
    background: float
    samples: list[float] = field(default_factory=list, compare=False)

    @property
    def settled(self) -> bool:
        """Whether most segments agree, so that another run will be within the tolerance."""
        return self.spread <= MAX_SPREAD

    def as_json(self) -> dict[str, Any]:
        """The fields, rounded to what can be believed."""
        return {
            "instructions": round(self.instructions, 1),
            "spread": round(self.spread, 5),
            "background": round(self.background, 5),
        }


def compute_figure(zero: Segment, idle: Segment | None, segments: Sequence[Segment]) -> Figure:
    """The cost of a decision: what a segment has beyond one without decisions.

    `zero` has no decisions, and `idle` none for a longer time: their difference is what a second
    costs while nothing is asked, and is subtracted for the time that each segment took.
    """
    rate = 0.0
    if idle is not None and idle.seconds > zero.seconds:
        rate = (idle.instructions - zero.instructions) / (idle.seconds - zero.seconds)
        rate = max(rate, 0.0)
    extra = [rate * max(segment.seconds - zero.seconds, 0.0) for segment in segments]
    samples = [
        (segment.instructions - zero.instructions - more) / segment.decisions
        for segment, more in zip(segments, extra, strict=True)
    ]
    middle = statistics.median(samples)
    counted = sum(segment.instructions for segment in segments)
    spread = statistics.median(abs(sample - middle) for sample in samples) / middle
    return Figure(middle, spread, sum(extra) / counted, samples)


# Processes that run, for `kill_processes`.
_running: set[CountedProcess] = set()


class CountedProcess:
    """A command under callgrind and the processes that it starts; a context manager."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.errors = folder / "stderr"
        self._prefix = f"--vgdb-prefix={folder / 'vgdb'}"
        self._command = [
            "valgrind", "--tool=callgrind", "--trace-children=yes", "--instr-atstart=no",
            f"--callgrind-out-file={folder / 'counts'}.%p", self._prefix, *command,
        ]  # fmt: skip
        self._environment = dict(environment)
        self._read_at = 0.0

    def __enter__(self) -> CountedProcess:
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env=self._environment, text=True, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        _running.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        with suppress(OSError):
            self.process.stdin.close()
        with suppress(OSError):
            self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(EXIT_TIMEOUT)
        self.kill()
        self.process.wait()
        self.process.stdout.close()
        _running.discard(self)

    def kill(self) -> None:
        """End all processes at once: the session has no others than the command has started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def write_line(self, line: str) -> None:
        """Write to the standard input of the command."""
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def read_line(self) -> str:
        """The next line of the standard output; an error if the command has ended."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the command has ended: {self.last_error()}")
        return line.rstrip("\n")

    def last_error(self) -> str:
        """The last line that is not valgrind's own on the standard error."""
        lines = self.errors.read_text(errors="replace").splitlines()
        told = [line for line in lines if line.strip() and not line.startswith("==")]
        return told[-1] if told else "no message"

    def start_counting(self) -> None:
        """Count from now on; until then only code is run."""
        for pid in self._find_processes():
            self._send(pid, "instrumentation", "on")
        self._read_at = time.monotonic()

    def read_segment(self, decisions: int) -> Segment:
        """What all processes have executed since the last reading."""
        for pid in self._find_processes():
            self._send(pid, "dump")
        now = time.monotonic()
        segment = Segment(decisions, self._collect(), now - self._read_at)
        self._read_at = now
        return segment

    def _collect(self) -> int:
        found = 0
        for path in self.folder.glob("counts.*"):
            found += sum(map(int, TOTALS.findall(path.read_text(errors="replace"))))
            path.unlink()
        return found

    def _find_processes(self) -> list[int]:
        found = [PIPE.search(path.name) for path in self.folder.glob("vgdb-from-vgdb-to-*")]
        return sorted(int(match[1]) for match in found if match)

    def _send(self, pid: int, *words: str) -> None:
        subprocess.run(
            ["vgdb", self._prefix, f"--pid={pid}", *words],
            capture_output=True, check=True, timeout=ANSWER_TIMEOUT,
        )  # fmt: skip


def kill_processes() -> None:
    """End everything that runs under callgrind; for a benchmark that is interrupted."""
    for process in [*_running]:
        process.kill()


def measure_decisions(
    process: CountedProcess, decide: Callable[[int], object], target: int, idle_s: float = 0.0,
    step: int = SHORTEST,
) -> Figure:  # fmt: skip
    """Count `decide(count)` in segments of different lengths until they agree.

    `process` counts already and has been warmed up. A short segment has about `target`
    instructions, and a multiple of `step` decisions. `idle_s` is for servers, whose timers cost
    something in every second.
    """
    process.read_segment(0)
    decide(step)
    first = process.read_segment(step)
    count = step * max(1, target // max(first.instructions, 1))
    zero = min((_count_nothing(process, decide, 0.0) for _ in range(2)), key=_cost)
    idle = None
    if idle_s:
        idle = min((_count_nothing(process, decide, idle_s) for _ in range(2)), key=_cost)
    segments: list[Segment] = []
    for _ in range(MAX_ROUNDS):
        for length in LENGTHS:
            decide(length * count)
            segments.append(process.read_segment(length * count))
        figure = compute_figure(zero, idle, segments)
        if figure.settled:
            break
    return figure


def _count_nothing(
    process: CountedProcess, decide: Callable[[int], object], seconds: float
) -> Segment:
    decide(0)
    time.sleep(seconds)
    return process.read_segment(0)


def _cost(segment: Segment) -> int:
    # Of two, the smaller: into one of them may fall what a server does once in a while.
    return segment.instructions


def find_missing_tools() -> list[str]:
    """The programs that counting needs and that are not installed."""
    return [name for name in ("valgrind", "vgdb") if shutil.which(name) is None]
