"""Slices of load on a proxy: processes that run for the whole benchmark, and wrk on one at a time.

A slice is read three ways: requests by the wall clock, how long they took, and the CPU of all the
proxy's processes by the kernel's account. It counts only if every answer was the one that was
wanted and, where a proxy asks Redis, if Redis has said enough to have decided each.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_contestants import REFUSED, SERVED, Contest, Proxy, command, found
from servers import HOST, PATIENCE, PAUSE, Reading, Server, _free_port
from slices import HEARD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

CONNECTIONS = 64
# Who asks, and the Redis, is on one core, who answers on the others. Left to itself the kernel puts
# them here and there, and a proxy is as fast as it is lucky.
CORES = sorted(os.sched_getaffinity(0))
ASKING, ANSWERING = CORES[:1], CORES[1:] or CORES
TICKS = os.sysconf("SC_CLK_TCK")
# Questions about one key may be put together: Redis says so many bytes of each decision, and so
# many around those of one question.
DECISION, AROUND = 25, 15
# nginx cannot be told to let in less than one a minute.
STRAGGLERS = 2


@dataclass(frozen=True)
class Slice:
    """What came of one: requests a second, milliseconds, CPU microseconds of each request."""

    requests: int
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


class Standstill(RuntimeError):
    """Nothing at all was answered in a slice."""


class Running:
    """A proxy at work on a free port, in a process of its own; a context manager."""

    def __init__(self, proxy: Proxy, folder: Path, upstream: int = 0) -> None:
        self.proxy = proxy
        self.port = _free_port()
        self.folder = folder
        self._log = folder / f"{proxy.name}.log"
        self._terms = {**proxy.terms, "folder": folder, "name": proxy.name, "port": self.port}
        self._terms["upstream"] = upstream

    def __enter__(self) -> Running:
        config = self.folder / f"{self.proxy.name}.yaml"
        config.write_text(self.proxy.form.substitute(self._terms))
        words = command(self.proxy.program, config)
        with self._log.open("w") as log:
            # In a session of its own: what it starts itself can be ended with it.
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def check(self, contest: Contest) -> None:
        """Wait until it answers as it should, and refuse to time it if it does not."""
        until = time.monotonic() + PATIENCE
        wanted = contest.size if self.proxy.status == SERVED else None
        while (answer := self._ask(contest.path)) != (self.proxy.status, wanted):
            if self._process.poll() is not None:
                raise RuntimeError(f"ended with {self._process.returncode}: {self._said()}")
            if time.monotonic() > until:
                raise RuntimeError(f"answered {answer} after {PATIENCE} s: {self._said()}")
            time.sleep(PAUSE)

    def cpu(self) -> float:
        """CPU seconds that all its processes have used."""
        return sum(family(self._process.pid))

    def _ask(self, path: str) -> tuple[int, int | None]:
        """Status and size of what it answers; a refusal is as long as it likes."""
        line = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            line.request("GET", path)
            answer = line.getresponse()
            size = len(answer.read())
        except (OSError, http.client.HTTPException):
            return 0, 0
        finally:
            line.close()
        return answer.status, None if answer.status == REFUSED else size

    def _said(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing")


@dataclass(frozen=True)
class House:
    """All who work for the benchmark, so that others can be told apart."""

    running: list[Running]
    redis: Server

    def read(self) -> Reading:
        """What they have used."""
        used = sum(each.cpu() for each in self.running)
        return Reading(used + self.redis.read().cpu, {})


def family(session: int) -> Iterator[float]:
    """CPU seconds of every process that the first one of a session has started, and its own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(words[3]) == session:
            yield (int(words[11]) + int(words[12])) / TICKS


def work(cores: list[int]) -> None:
    """From now on this process works on these, and so does all that it starts."""
    os.sched_setaffinity(0, cores)


def loaded(running: Running, contest: Contest, seconds: int, sent: int, redis: Server) -> Slice:
    """One slice; `sent` is how many requests it has had, so that addresses go on taking turns."""
    asked, used = redis.read(), running.cpu()
    told = _wrk(running, contest, seconds, sent)
    used = running.cpu() - used
    heard = redis.read()
    said = heard.said - asked.said - AROUND * heard.since(asked, "evalsha")[1]
    requests = told["requests"]
    status = running.proxy.status
    wrong = told["unserved"] if status == SERVED else requests - told["unserved"] - STRAGGLERS
    if not requests:
        raise Standstill
    if told["broken"] or wrong > 0:
        counts = f"{max(0, wrong):,} of {requests:,} answers were not {status}"
        raise RuntimeError(f"{counts}, {told['broken']:,} connections broke")
    if running.proxy.asks and said < HEARD * DECISION * requests:
        raise RuntimeError(f"Redis said {said:,} bytes, too few to decide {requests:,} requests")
    rate = requests / told["seconds"]
    return Slice(requests, rate, told["p50_ms"], told["p99_ms"], 1e6 * used / requests)


def _wrk(running: Running, contest: Contest, seconds: int, sent: int) -> dict[str, float]:
    words = [found("wrk") or "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    words += ["-s", f"{running.folder}/wrk.lua", f"http://{HOST}:{running.port}{contest.path}"]
    words += ["--", *map(str, (contest.addresses, sent, running.proxy.addresses))]
    said = subprocess.run(
        words, capture_output=True, text=True, check=False, preexec_fn=partial(work, ASKING)
    )
    if said.returncode:
        raise RuntimeError(f"wrk ended with {said.returncode}: {said.stderr.strip()}")
    told: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return told
