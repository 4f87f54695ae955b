"""Benchmark of the gateway beside nginx, HAProxy and Envoy, each with a limit and one worker.

Starts them all, and nginx with two files behind them, and lets wrk loose on one at a time: a slice
for each in turn, round after round. Prints tables, writes `results/gateway.json`, and draws
`docs/pictures/gateway.svg` if it is told to with `--picture`. README.md says what is fair about it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import gateway_report
import report
from gateway_configs import FILES, WRK
from gateway_contestants import CONTESTS, OURS, Contest, Proxy, found, proxies, version
from gateway_slices import (
    ANSWERING,
    ASKING,
    CONNECTIONS,
    House,
    Running,
    Slice,
    Standstill,
    loaded,
    work,
)
from servers import Host, Neighbours, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results"
NEEDED = ("nginx", "wrk")
PACKAGES = ("httptools", "uvloop", "hiredis")
NAMES = [proxy.name for proxy in proxies("")]
ROUNDS, SECONDS, WARM = 5, 3, 1
# Of a slice the machine's host may keep so much for others; else it is taken again, so often.
STOLEN, TRIES = 0.05, 8
# So many slices are enough for 100,000 addresses, or never will be.
MOST_WARM = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed or Headgate failed."""
    options = _options(arguments)
    missing = [program for program in NEEDED if not found(program)]
    if missing:
        print(f"nothing is measured: {' and '.join(missing)} not installed")
        return 0
    # Asked to end, we end as after an error, and take everybody along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = run(options.rounds, options.seconds, options.only)
    judged = gateway_report.targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in gateway_report.tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.picture:
        gateway_report.draw(results, options.picture)
    missed = any(target.met is False for target in judged)
    missed |= any(who.startswith(OURS) for who in results["failed"])
    return 1 if missed and vars(options)["assert"] else 0


def run(rounds: int, seconds: int, only: Sequence[str]) -> dict[str, Any]:
    """Everybody in every contest in turn, `rounds` times."""
    machine = report.machine()
    with ExitStack() as stack:
        work(ASKING)
        scores = Scores(stack.enter_context(Server()))
        work(ANSWERING)
        running = started(only, scores, stack)
        neighbours = Neighbours(House([*running.values()], scores.redis))
        turns = [
            (contest, running[name])
            for contest in CONTESTS.values()
            for name in contest.proxies
            if name in running
        ]
        _say("warming up")
        for contest, proxy in turns:
            scores.warm(contest, proxy)
        for number in range(rounds):
            _say(f"round {number + 1}")
            # There and back again: what drifts touches the first and the last alike.
            for contest, proxy in turns[:: -1 if number % 2 else 1]:
                scores.add(contest, proxy, seconds)
        return {
            "machine": machine,
            "versions": _versions(running, scores.redis),
            "sizes": {"rounds": rounds, "seconds": seconds, "connections": CONNECTIONS},
            "neighbours": neighbours.cores(),
            "stolen": {"most": STOLEN, "again": scores.again, "still": scores.still},
            "failed": scores.failed,
            "contests": scores.figures(),
        }


class Scores:
    """What everybody's slices came to, contest by contest; and who is out, and why."""

    def __init__(self, redis: Server) -> None:
        self.redis = redis
        self.failed: dict[str, str] = {}
        # Slices that were taken again, and those that count though too much of them was stolen.
        self.again = self.still = 0
        self._taken: dict[str, dict[str, list[Slice]]] = {name: {} for name in CONTESTS}
        self._sent: Counter[str] = Counter()

    def warm(self, contest: Contest, running: Running) -> None:
        """A slice that does not count, or as many as it takes for every address to be known."""
        name = running.proxy.name
        for _ in range(MOST_WARM):
            self._try(contest, running, WARM)
            if self._sent[name] >= contest.addresses:
                break

    def add(self, contest: Contest, running: Running, seconds: int) -> None:
        """One slice. Who once failed is out of that contest."""
        name, board = running.proxy.name, self._taken[contest.name]
        if _entry(contest, name) in self.failed:
            return
        if taken := self._slice(contest, running, seconds):
            board.setdefault(name, []).append(taken)
        else:
            board.pop(name, None)

    def figures(self) -> dict[str, Any]:
        """The slices of each contest, summed up."""
        return {name: gateway_report.figures(board) for name, board in self._taken.items()}

    def _slice(self, contest: Contest, running: Running, seconds: int) -> Slice | None:
        """The first that was not stolen, or else the least stolen; whoever it is of."""
        name, tries = running.proxy.name, []
        while len(tries) < TRIES:
            host = Host()
            taken, problem = self._try(contest, running, seconds)
            # In a second without an answer the machine was not there, whatever its kernel noticed.
            tries.append((host.stolen() if taken or problem else 1.0, taken, problem))
            if tries[-1][0] <= STOLEN:
                break
        least, taken, problem = min(tries, key=lambda each: each[0])
        self.again += len(tries) - 1
        self.still += least > STOLEN
        if taken is None:
            self.failed[_entry(contest, name)] = problem or "nothing was answered"
        return taken

    def _try(self, contest: Contest, running: Running, seconds: int) -> tuple[Slice | None, str]:
        name = running.proxy.name
        try:
            taken = loaded(running, contest, seconds, self._sent[name], self.redis)
        except Standstill:
            return None, ""
        except RuntimeError as problem:
            return None, str(problem)
        self._sent[name] += taken.requests
        return taken, ""


def started(only: Sequence[str], scores: Scores, stack: ExitStack) -> dict[str, Running]:
    """Everybody who is here and answers as it should, with the files behind them."""
    folder = _folder(stack)
    files = stack.enter_context(Running(Proxy("files", "nginx", FILES), folder))
    running = {}
    for proxy in proxies(scores.redis.url):
        if proxy.name not in only:
            continue
        if not found(proxy.program):
            scores.failed[proxy.name] = f"{proxy.program} is not installed"
            continue
        running[proxy.name] = stack.enter_context(Running(proxy, folder, files.port))
    for contest in CONTESTS.values():
        files.check(contest)
    for name, each in [*running.items()]:
        try:
            each.check(CONTESTS["1 KB"])
        except RuntimeError as problem:
            scores.failed[name] = str(problem)
            del running[name]
    return running | {"files": files}


def _folder(stack: ExitStack) -> Path:
    """What the proxies are told and what they serve, for as long as it takes."""
    folder = Path(stack.enter_context(TemporaryDirectory()))
    (folder / "wrk.lua").write_text(WRK)
    (folder / "www").mkdir()
    for contest in CONTESTS.values():
        (folder / "www" / str(contest.size)).write_bytes(b"x" * contest.size)
    return folder


def _entry(contest: Contest, name: str) -> str:
    return f"{name} ({contest.name})"


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


def _versions(running: dict[str, Running], redis: Server) -> dict[str, str]:
    programs = {each.proxy.program for each in running.values()} - {"headgate"}
    packages, _ = report.versions(PACKAGES)
    name, _, number = redis.title.partition(" ")
    return {each: version(each) for each in sorted(programs | {"wrk"})} | packages | {name: number}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of everybody")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="length of a turn")
    parser.add_argument(
        "--only",
        type=_names,
        default=NAMES,
        metavar="NAME,NAME",
        help=f"only these of {', '.join(NAMES)}",
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "gateway.json", metavar="PATH")
    parser.add_argument("--picture", type=Path, metavar="PATH", help="draw it, as SVG")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


def _names(said: str) -> list[str]:
    names = said.split(",")
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"nobody is called {name!r}; {', '.join(NAMES)} are")
    return names


if __name__ == "__main__":
    sys.exit(main())
