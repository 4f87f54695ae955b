"""Benchmark of the service beside grpcio, uvicorn and Redis, each making the same decision.

Starts them all and lets one program at a time loose on one of them: a slice for each in turn, round
after round. Prints a table and writes `results/serving.json`. README.md says what is fair in it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import redis

import report
import serving_configs
import serving_loads
from gateway_slices import ANSWERING, ASKING, family, work
from servers import HOST, PATIENCE, PAUSE, Host, Server, _free_port
from targets import Target

RESULTS = Path(__file__).parent / "results"
NEEDED = ("h2load", "wrk", "redis-benchmark")
ROUNDS, SECONDS = 5, 3
# Of a slice the machine's host may keep so much for others; else it is taken again, so often.
STOLEN, TRIES = 0.05, 5
OURS = "headgate"
PEERS = ("grpc-aio", "grpc-threads")
# So many commands of Redis take about as long as the other slices.
COMMANDS = 40_000


@dataclass(frozen=True)
class Slice:
    """What came of one: answers a second, CPU microseconds of each by those who answered it."""

    rate: float
    cpu_us: float


class Running:
    """A program at work in a session of its own; a context manager."""

    def __init__(self, words: Sequence[str], port: int, folder: Path, name: str) -> None:
        self._words = [*words]
        self.port = port
        self._log = folder / f"{name}.log"

    def __enter__(self) -> Running:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._words, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + PATIENCE
        while not reached(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self._words}: {self._log.read_text()[-500:]}")
            time.sleep(PAUSE)
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

    def cpu(self) -> float:
        """CPU seconds that all its processes have used."""
        return sum(family(self._process.pid))


@dataclass(frozen=True)
class Turn:
    """One contestant of a contest: what is let loose on it, and whose CPU that takes."""

    contest: str
    name: str
    load: Callable[[], serving_loads.Seen]
    cpu: Callable[[], float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        print(f"nothing is measured: {' and '.join(missing)} not installed")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = run(options.rounds, options.seconds)
    judged = targets(results["contests"])
    results["targets"] = [asdict(target) for target in judged]
    for line in tables(results["contests"], judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 1 if vars(options)["assert"] and any(one.met is False for one in judged) else 0


def run(rounds: int, seconds: int) -> dict[str, Any]:
    """Everybody in every contest in turn, `rounds` times."""
    machine = report.machine()
    board: dict[str, dict[str, list[Slice]]] = {}
    with ExitStack() as stack:
        turns = staged(seconds, stack)
        for turn in turns:
            turn.load()
        for number in range(rounds):
            print(f"round {number + 1}", file=sys.stderr)
            for turn in turns[:: -1 if number % 2 else 1]:
                taken = measured(turn)
                board.setdefault(turn.contest, {}).setdefault(turn.name, []).append(taken)
    figures = {
        contest: {
            name: {
                "rate": median(one.rate for one in slices),
                "cpu_us": median(one.cpu_us for one in slices),
                "slices": [asdict(one) for one in slices],
            }
            for name, slices in of.items()
        }
        for contest, of in board.items()
    }
    return {"machine": machine, "rounds": rounds, "seconds": seconds, "contests": figures}


def staged(seconds: int, stack: ExitStack) -> list[Turn]:
    """Start everybody; all turns of a round, each contest's beside each other."""
    folder = Path(stack.enter_context(TemporaryDirectory()))
    work(ASKING)
    upstream = stack.enter_context(files(folder))
    work(ANSWERING)
    ports = {speaks: _free_port() for speaks in ("http", "grpc", "resp")}
    (folder / "rules.yaml").write_text(serving_configs.rules(ports))
    ours = stack.enter_context(
        Running(serving_configs.ours(folder / "rules.yaml"), ports["grpc"], folder, OURS)
    )
    peers = {name: stack.enter_context(peer(name, folder)) for name in (*PEERS, "uvicorn")}
    server = stack.enter_context(Server())
    turns = [
        Turn("rls", name, lambda port=port: serving_loads.streams(port, seconds, folder), cpu)
        for name, port, cpu in [
            (OURS, ports["grpc"], ours.cpu), *((n, peers[n].port, peers[n].cpu) for n in PEERS)
        ]
    ]  # fmt: skip
    turns += [
        Turn("http", name, lambda port=port: serving_loads.posts(port, seconds, folder), cpu)
        for name, port, cpu in [
            (OURS, ports["http"], ours.cpu),
            ("uvicorn", peers["uvicorn"].port, peers["uvicorn"].cpu),
        ]
    ]  # fmt: skip
    turns += spoken(server, ports["resp"], ours)
    if serving_configs.envoy() is not None:
        before = [(OURS, ports["grpc"], ours), *((n, peers[n].port, peers[n]) for n in PEERS)]
        for number, (name, port, running) in enumerate(before):
            proxy = stack.enter_context(proxied(folder, name, number, port, upstream.port))
            turns.append(
                Turn(
                    "envoy", name,
                    lambda port=proxy.port: serving_loads.visits(port, seconds, folder),
                    lambda proxy=proxy, running=running: proxy.cpu() + running.cpu(),
                )
            )  # fmt: skip
    return turns


def spoken(server: Server, port: int, ours: Running) -> list[Turn]:
    """The turns of those who speak as Redis does."""
    client: Any = redis.Redis(host=HOST, port=server.port)
    digest = client.script_load(serving_loads.SCRIPT)
    asked = ["evalsha", digest, "1", "user:42", "1000000", "1"]
    throttled = ["CL.THROTTLE", "user:42", "999999", "1000000", "1"]
    take = ["HG.TAKE", "api", "user:42"]
    return [
        Turn("resp", "redis EVALSHA", lambda: serving_loads.commands(server.port, COMMANDS, asked),
             lambda: server.read().cpu),
        Turn("resp", f"{OURS} CL.THROTTLE",
             lambda: serving_loads.commands(port, COMMANDS, throttled), ours.cpu),
        Turn("resp", f"{OURS} HG.TAKE",
             lambda: serving_loads.commands(port, COMMANDS, take), ours.cpu),
    ]  # fmt: skip


def measured(turn: Turn) -> Slice:
    """The first slice that was not stolen, or else the least stolen."""
    tries = []
    while len(tries) < TRIES:
        host, used = Host(), turn.cpu()
        seen = turn.load()
        used = turn.cpu() - used
        tries.append((host.stolen(), Slice(seen.rate, 1e6 * used / seen.answers)))
        if tries[-1][0] <= STOLEN:
            break
    return min(tries, key=lambda one: one[0])[1]


def targets(contests: dict[str, Any]) -> list[Target]:
    """Every promise, by the medians of ratios within one round, and by the best slices."""
    rls, http, resp = contests["rls"], contests["http"], contests["resp"]
    best = max(PEERS, key=lambda name: rls[name]["rate"])
    least = min(PEERS, key=lambda name: rls[name]["cpu_us"])
    judged = [
        _at_least(f"x {best}'s calls a second", 8, rls, OURS, best, "rate"),
        _at_least(f"x less CPU a call than {least}", 8, rls, least, OURS, "cpu_us"),
        _at_least("x uvicorn's checks a second", 2, http, OURS, "uvicorn", "rate"),
        _at_least("x less CPU a check than uvicorn", 2, http, "uvicorn", OURS, "cpu_us"),
        _at_least("of Redis's EVALSHA a second, CL.THROTTLE", 0.5, resp, f"{OURS} CL.THROTTLE",
                  "redis EVALSHA", "rate"),
        _at_least("of Redis's EVALSHA a second, HG.TAKE", 0.5, resp, f"{OURS} HG.TAKE",
                  "redis EVALSHA", "rate"),
    ]  # fmt: skip
    if behind := contests.get("envoy"):
        best = max(PEERS, key=lambda name: behind[name]["rate"])
        judged.append(_at_least(f"x {best}'s rate behind Envoy", 1.8, behind, OURS, best, "rate"))
    return judged


def _at_least(
    promise: str, goal: float, contest: dict[str, Any], over: str, under: str, column: str
) -> Target:
    pairs = zip(contest[over]["slices"], contest[under]["slices"], strict=True)
    ratios = [one[column] / other[column] for one, other in pairs]
    middle, best = median(ratios), max(ratios)
    return Target(f">= {goal} {promise}", best, middle, goal, middle >= goal)


def tables(contests: dict[str, Any], judged: list[Target]) -> list[str]:
    """The lines to print."""
    lines = [f"{'':10}{'':24}{'a second':>12}{'CPU us':>10}"]
    for contest, entrants in contests.items():
        for name, figures in entrants.items():
            lines.append(f"{contest:10}{name:24}{figures['rate']:12,.0f}{figures['cpu_us']:10.1f}")
    lines.append("")
    for one in judged:
        verdict = "met" if one.met else "MISSED"
        lines.append(f"{one.promise:55}{one.median:8.2f}{one.value:8.2f}  {verdict}")
    return lines


def peer(name: str, folder: Path) -> Running:
    """A peer, not started yet."""
    port = _free_port()
    script = str(Path(__file__).parent / "serving_peers.py")
    return Running([sys.executable, script, name, str(port)], port, folder, name)


def files(folder: Path) -> Running:
    """An nginx with a small file, for Envoy to go to."""
    port = _free_port()
    config = folder / "files.conf"
    config.write_text(serving_configs.files(folder, port))
    return Running(["nginx", "-c", str(config)], port, folder, "files")


def proxied(folder: Path, name: str, number: int, asked: int, upstream: int) -> Running:
    """An Envoy that asks at a port before it goes on."""
    port = _free_port()
    config = folder / f"envoy-{name}.yaml"
    config.write_text(serving_configs.proxy(port, asked, upstream))
    words = [str(serving_configs.envoy()), "-c", str(config), "--concurrency", "1"]
    words += ["--log-level", "error", "--base-id", str(4000 + os.getpid() % 1000 * 4 + number)]
    return Running([*words, "--disable-hot-restart"], port, folder, f"envoy-{name}")


def reached(port: int) -> bool:
    """Whether anybody listens there."""
    import socket

    with socket.socket() as line:
        return line.connect_ex((HOST, port)) == 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--json", type=Path, default=RESULTS / "serving.json")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
