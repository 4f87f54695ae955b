"""Signals: how busy this machine, or this container, is. Shares from 0.0 to 1.0 and above.

In a container with a quota, busy is what has been used of the quota; without one, it is what is in
use of the CPUs this process may run on, neighbours included. Numbers are read from the kernel's
files by a thread of their own, a few times a second, and smoothed; asking for one costs a look at a
variable.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from headgate.clock import Clock, SystemClock
from headgate.fork import follow

logger = logging.getLogger("headgate")

# How often signals are read, and how much of a new reading is taken over.
EVERY = 0.1
SMOOTH = 0.4
# A limit of memory beyond this is none: version 1 says so.
UNLIMITED = 1 << 60


class Machine:
    """What the kernel says of this process's machine, or of its container."""

    def __init__(self, root: str = "/", clock: Clock | None = None) -> None:
        self.root = Path(root)
        self.clock = SystemClock() if clock is None else clock
        self.before = (0.0, 0.0)

    def cpu(self) -> float:
        """The share of its CPU time that was used since one asked last."""
        known = self.container() or self.host()
        # Not Linux: what wants to run is as near as one gets.
        return self.share(*known) if known else min(1.0, os.getloadavg()[0] / cores())

    def process(self) -> float:
        """The share of the CPUs it may use that this process itself used since one asked last."""
        spent = os.times()
        return self.share((spent.user + spent.system) * 1e6, self.clock.now() * cores())

    def load(self) -> float:
        """Those who run or want to, by the kernel's mean over a minute, for each CPU."""
        return figure(self.text("proc/loadavg").partition(" ")[0]) / cores()

    def memory(self) -> float:
        """The share of its memory that is in use; what the kernel only caches does not count."""
        for group in self.groups("memory"):
            most = figure(self.text(group / "memory.max"))
            most = most or figure(self.text(group / "memory.limit_in_bytes"))
            used = figure(self.text(group / "memory.current"))
            used = used or figure(self.text(group / "memory.usage_in_bytes"))
            if 0 < most < UNLIMITED:
                kept = table(self.text(group / "memory.stat")).get("inactive_file", 0)
                return max(0.0, used - kept) / most
        said = table(self.text("proc/meminfo"))
        total = said.get("MemTotal:", 0)
        return 1.0 - said.get("MemAvailable:", 0) / total if total else 0.0

    def container(self) -> tuple[float, float] | None:
        """The CPU time used in all, and that there has been by the quota; None without a quota."""
        for group in self.groups("cpu"):
            quota, period = self.quota(group)
            if quota > 0:
                used = table(self.text(group / "cpu.stat")).get("usage_usec", 0)
                used = used or figure(self.text(group / "cpuacct.usage")) / 1000
                return used, self.clock.now() * min(quota / period, cores())
        return None

    def share(self, used: float, given: float) -> float:
        # Of what was given since one asked last; the first time there is nothing to compare with,
        # and a forked child has used less than its parent.
        before, self.before = self.before, (used, given)
        spent = max(0.0, used - before[0])
        return spent / (given - before[1]) if 0 < before[1] < given else 0.0

    def quota(self, group: Path) -> tuple[float, float]:
        # How much time in how much; no time if there is no quota.
        said = self.text(group / "cpu.max").split()
        if len(said) == 2:
            return figure(said[0]), figure(said[1])
        quota = figure(self.text(group / "cpu.cfs_quota_us"))
        return quota, figure(self.text(group / "cpu.cfs_period_us"))

    def host(self) -> tuple[float, float] | None:
        """The CPU time used in all on the CPUs this process may use, and that there has been."""
        # A process that is kept on one CPU of two is as busy as that one, not half as busy.
        mine = {f"cpu{number}" for number in allowed()}
        lines = [line.split() for line in self.text("proc/stat").splitlines()]
        found = [line for line in lines if len(line) > 5 and line[0] in mine] or lines[:1]
        counts = [[figure(word) for word in line[1:9]] for line in found]
        said = [sum(column) for column in zip(*counts, strict=False)]
        return (sum(said) - said[3] - said[4], sum(said)) if len(said) > 4 else None

    def groups(self, kind: str) -> list[Path]:
        # The control groups this process is in, from its own upwards, of either version.
        found = []
        for line in self.text("proc/self/cgroup").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and kind not in kinds.split(","):
                continue
            base = self.root / "sys/fs/cgroup" / kinds
            own = base / path.lstrip("/")
            # Inside a container the path is that of the outside, and its own group is the base.
            found += [own, *(up for up in own.parents if up.is_relative_to(base))]
        return found

    def text(self, path: Path | str) -> str:
        # What a file says; nothing if there is none.
        try:
            return (self.root / path).read_text()
        except (OSError, UnicodeDecodeError):
            return ""


class Signal:
    """A reading that a thread keeps up to date: call it for the latest, smoothed."""

    lock: threading.Lock
    started: bool

    def __init__(
        self, read: Callable[[], float], every: float = EVERY, smooth: float = SMOOTH
    ) -> None:
        self.read = read
        self.every = every
        self.smooth = smooth
        self.value = 0.0
        self.failing = False
        self.stop()
        follow(self, Signal.stop)

    def __call__(self) -> float:
        if not self.started:
            self.start()
        return self.value

    def start(self) -> None:
        """Let a thread read from now on."""
        with self.lock:
            if self.started:
                return
            self.started = True
        threading.Thread(target=self.run, name="headgate signal", daemon=True).start()

    def stop(self) -> None:
        """Have no thread: a forked child does not inherit its parent's."""
        self.started = False
        self.lock = threading.Lock()

    def run(self) -> None:
        """Read for ever."""
        pause = threading.Event()
        self.take(1.0)
        while not pause.wait(self.every):
            self.take(self.smooth)

    def take(self, share: float) -> None:
        """Read once, and take over so much of it.

        The mean is a float: cut to whole numbers it would never quite arrive.
        """
        try:
            self.value += (self.read() - self.value) * share
            self.failing = False
        except Exception:
            # Said once, not as often as it is read.
            if not self.failing:
                logger.exception("a signal could not be read; it stays as it was")
            self.failing = True


def cores() -> int:
    """How many CPUs this process may use."""
    return len(allowed())


def allowed() -> set[int]:
    """The CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def figure(text: str) -> float:
    """What a file says, as a number; 0 if it is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def table(text: str) -> dict[str, float]:
    """The numbers of a file of lines that each begin with a name."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: figure(words[1]) for words in lines if len(words) > 1}


cpu = Signal(Machine().cpu)
process = Signal(Machine().process)
memory = Signal(Machine().memory)
load = Signal(Machine().load)
