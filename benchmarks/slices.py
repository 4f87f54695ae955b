"""Slices: everybody on one server in turn, for a few tenths of a second, several rounds over.

A decision on a server takes tens of microseconds, so a turn is a span of time here, not a batch of
a millisecond; otherwise it is as in measure.py, and for the same reason. Each slice is read four
ways: decisions by the wall clock, CPU of this process, CPU of the server by its own account, and
how long the single decisions took.

A slice counts only if the server has seen a command for each decision. Who answers without having
asked is fast, and is not what is measured.
"""

from __future__ import annotations

import asyncio
import gc
import time
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from redis_contestants import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from servers import Server

    Figures = dict[str, dict[str, Any]]
    Crowd = Callable[[float], list[list[float]]]
    Turn = Callable[[], "Sample"]

# What every key may be asked for in a run: more than it ever is.
AMPLE = 100_000
# Signs of life and other rare commands may be missed, a decision may not.
HEARD = 0.99
LOOP = """\
{define}def run(end, keys, stamps, clock, {names}):
    for key in keys:
        answer = {wait}{call}
        now = clock()
        stamps.append(now)
        if now >= end:
            return answer
"""


@dataclass(frozen=True)
class Sample:
    """One slice: decisions and the seconds they took, CPU seconds here and there, milliseconds."""

    decisions: int
    seconds: float
    client: float
    server: float
    calls: int
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        """Decisions a second."""
        return self.decisions / self.seconds

    @property
    def heard(self) -> bool:
        """Whether the server was asked for every decision."""
        return self.calls >= HEARD * self.decisions


@dataclass(frozen=True)
class Field:
    """Where a contest takes place: the server, the keys in no order, and connections for each."""

    server: Server
    keys: list[str]
    lines: int


def names(count: int) -> list[str]:
    """`count` keys in no order, spelled as redis-benchmark spells its own."""
    return [f"{number * 7919 % count:012}" for number in range(count)]


def blocking(caller: Caller, field: Field, seconds: float) -> Turn:
    """Turns of one caller that waits for every answer."""
    _check(caller, field, eval)
    built = caller.build(field.server.url, AMPLE, field.lines)
    run = _loop(caller, built)
    keys = cycle(field.keys)

    def crowd(length: float) -> list[list[float]]:
        stamps = [time.perf_counter()]
        _expect(caller, run(stamps[0] + length, keys, stamps, time.perf_counter, **built), True)
        return [stamps]

    for key in field.keys:
        eval(caller.call, {"key": key, **built})
    return lambda: timed(crowd, seconds, field.server, caller.command)


def crowded(caller: Caller, field: Field, runner: asyncio.Runner) -> Callable[[int, float], Turn]:
    """Turns of many tasks in one event loop, each of which waits for its own answers."""
    _check(caller, field, lambda call, built: runner.run(_await(call, built)))
    built = caller.build(field.server.url, AMPLE, field.lines)
    run = _loop(caller, built, "async ", "await ")
    keys = cycle(field.keys)

    async def work(tasks: int, length: float) -> list[list[float]]:
        begin = time.perf_counter()
        stamps = [[begin] for _ in range(tasks)]
        answers = await asyncio.gather(
            *(run(begin + length, keys, each, time.perf_counter, **built) for each in stamps)
        )
        for answer in answers:
            _expect(caller, answer, True)
        return stamps

    def turn(tasks: int, seconds: float) -> Turn:
        def crowd(length: float) -> list[list[float]]:
            return runner.run(work(tasks, length))

        return lambda: timed(crowd, seconds, field.server, caller.command)

    # Every key is met once before anything is timed, by as many as there are connections.
    for _ in range(-(-len(field.keys) // field.lines)):
        runner.run(work(field.lines, 0.0))
    return turn


def timed(crowd: Crowd, seconds: float, server: Server, command: str) -> Sample:
    """One slice, after one untimed decision of everybody."""
    crowd(0.0)
    before = server.read()
    client = time.process_time()
    histories = crowd(seconds)
    client = time.process_time() - client
    cpu, calls = server.read().since(before, command)
    spans = sorted(
        after - first
        for history in histories
        for first, after in zip(history, islice(history, 1, None), strict=False)
    )
    wall = max(history[-1] for history in histories) - histories[0][0]
    hundredths = quantiles(spans, n=100) if len(spans) > 1 else [spans[0]] * 99
    p50, p99 = hundredths[49] * 1000, hundredths[98] * 1000
    return Sample(len(spans), wall, client, cpu, calls, p50, p99)


def interleave(turns: dict[str, Turn], rounds: int) -> Figures:
    """Give everybody a slice in turn, `rounds` times; who fails is out, and it is said why."""
    samples: dict[str, list[Sample]] = {name: [] for name in turns}
    failed: dict[str, str] = {}
    # What was built to begin with is nobody's garbage, and nobody is to pay for looking through it.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for name, turn in turns.items():
            if name in failed:
                continue
            try:
                samples[name].append(turn())
            except Exception as problem:  # a peer may fail in any way; the others still run
                failed[name] = f"{type(problem).__name__}: {problem}"
    figures = {name: summary(taken) for name, taken in samples.items() if name not in failed}
    return figures | {name: {"failed": why} for name, why in failed.items()}


def prepared(makers: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Any], Figures]:
    """What each maker made, and who could not be made ready, with the reason."""
    made: dict[str, Any] = {}
    failed: Figures = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except Exception as problem:  # as above
            failed[name] = {"failed": f"{type(problem).__name__}: {problem}"}
    return made, failed


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """The best rate, and the medians of everything; slices without the server are left out."""
    taken = [each for each in samples if each.heard]
    if not taken:
        asked, seen = sum(s.decisions for s in samples), sum(s.calls for s in samples)
        return {"failed": f"{asked:,} decisions, of which the server saw {seen:,}"}
    return {
        # By round, so that two contestants can be compared at about the same moment.
        "rates": [each.rate if each.heard else None for each in samples],
        "best": max(each.rate for each in taken),
        "median": median(each.rate for each in taken),
        "client_us": median(each.client / each.decisions for each in taken) * 1e6,
        "server_us": median(each.server / each.decisions for each in taken) * 1e6,
        "p50_ms": median(each.p50 for each in taken),
        "p99_ms": median(each.p99 for each in taken),
        "slices": len(taken),
        "discarded": len(samples) - len(taken),
    }


def _loop(caller: Caller, built: dict[str, Any], define: str = "", wait: str = "") -> Any:
    """The caller's statement in a loop until a moment, its objects local to the function."""
    source = LOOP.format(define=define, wait=wait, call=caller.call, names=", ".join(built))
    space: dict[str, Any] = {}
    exec(source, space)  # as in measure.py: no adapter stands between the loop and the library
    return space["run"]


def _check(caller: Caller, field: Field, ask: Callable[[str, dict[str, Any]], Any]) -> None:
    """Refuse to time who does not let one in and keep the next one out, where one an hour may."""
    built = caller.build(field.server.url, 1, field.lines)
    key = f"once:{time.time_ns()}"
    for expected in (True, False):
        _expect(caller, ask(caller.call, {"key": key, **built}), expected)


def _expect(caller: Caller, answer: Any, expected: bool) -> None:
    if caller.admitted(answer) is not expected:
        wanted = "yes" if expected else "no"
        raise RuntimeError(f"{caller.name} answered {answer!r} where {wanted} is right")


async def _await(call: str, built: dict[str, Any]) -> Any:
    return await eval(call, built)
