"""Logs of which all is known: who asked when, and what a limiter would have said."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headgate import Limiter, ManualClock
from headgate.algorithms.limit import Limit
from headgate.replay.run import Terms, opened, replay
from headgate.rules import Rules
from headgate.testing import play
from headgate.testing.traffic import Request

# As nginx would write it with this log_format.
FORMAT = '$msec $remote_addr "$request" $status $body_bytes_sent $http_x_key'
START = 1_760_000_000_000_000


class Ask(NamedTuple):
    """One request: when, in microseconds, by whom, for what."""

    at: int
    client: str
    path: str = "/"
    status: int = 200
    size: int = 100
    key: str = "-"


def traffic(count: int, seed: int = 0, rate: float = 100.0, clients: int = 40) -> Iterator[Ask]:
    """Visitors, some of whom ask far more often than others; the same ones for the same seed."""
    chance = random.Random(seed)
    at = START
    for _ in range(count):
        at += int(chance.expovariate(rate) * 1e6)
        number = min(clients - 1, int(chance.paretovariate(0.8)) - 1)
        yield Ask(
            at, f"10.0.{number // 250}.{number % 250 + 1}", chance.choice(("/", "/login", "/v1/x"))
        )


def line(ask: Ask) -> str:
    """The line of a request."""
    stamp = f"{ask.at // 1_000_000}.{ask.at % 1_000_000:06}"
    return f'{stamp} {ask.client} "GET {ask.path} HTTP/1.1" {ask.status} {ask.size} {ask.key}\n'


def written(path: Path, asks: Iterable[Ask]) -> Path:
    """A log of these requests; packed if its name says so."""
    text = "".join(map(line, asks)).encode()
    path.write_bytes(gzip.compress(text, 1) if path.suffix == ".gz" else text)
    return path


def run(logs: Sequence[Path], *texts: str, **terms: Any) -> dict[str, Any]:
    """The report of a replay to rules in YAML."""
    books = [
        (f"rules{number}.yaml", Rules.read(f"version: 1\n{text}"))
        for number, text in enumerate(texts)
    ]
    chosen = Terms(**{"form": FORMAT, "top": 1000, **terms})
    return replay(opened([str(log) for log in logs], chosen.form), books, chosen, lambda *_: None)


def judged(asks: Iterable[Ask], *limits: Limit | str) -> tuple[int, dict[str, tuple[int, int]]]:
    """What the simulator says: how many are refused, and of each client asked and refused."""
    limiter = Limiter(*limits, clock=ManualClock())
    history = play(limiter, [Request(ask.at / 1e6, ask.client) for ask in asks])
    asked = Counter(entry.key for entry in history)
    refused = Counter(entry.key for entry in history if not entry.decision)
    return refused.total(), {key: (asked[key], refused[key]) for key in refused}


def hit(report: dict[str, Any], rule: int = 0) -> dict[str, tuple[int, int]]:
    """Of each key that was refused, how often it asked and was refused."""
    top = report["rules"]["rules"][rule]["top"]
    return {one["key"]: (one["asked"], one["refused"]) for one in top}
