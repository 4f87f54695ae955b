"""Leases: one process on a key that never runs dry, and several on one that always does.

What is admitted is counted from histories: every process notes the moment of each yes on the clock
they share, and the bound is held against all of them together, over every span of time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import repeat
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import measure
from contestants import Contestant

if TYPE_CHECKING:
    from servers import Server

PROCESSES = 4
# Never dry: ten times what is asked of it. Saturated: a small part of it.
NEVER_DRY = "10000000/s"
RATE = 20_000
BURST = 2_000
BATCH = 10_000
PATIENCE = 60


def hot(server: Server, rounds: int, seconds: float) -> dict[str, Any]:
    """Decisions a second of one process on one key, each round for so many seconds.

    After each slice comes one in memory, which says what the leases cost.
    """
    from headgate import Limiter

    limiter: Any = Limiter(NEVER_DRY, store=f"leased+{server.url}", name="benchmark-hot")
    entrant = Contestant("leased", "headgate", lambda *_: {}, "limiter.take(key)", "Decision")
    run = measure.loop(entrant, {"limiter": limiter})
    run(repeat(measure.HOT, BATCH))
    measure.check(entrant, {"limiter": limiter}, True)
    beside = measure.loop(entrant, {"limiter": Limiter(NEVER_DRY)})
    rates, shares, cpu, memory = [], [], [], []
    for _ in range(rounds):
        before = server.read()
        decisions, rate, spent = _slice(run, seconds)
        cpu.append(spent / decisions * 1e6)
        rates.append(rate)
        calls = server.read().since(before, "evalsha")[1]
        # One lease may be left from before.
        if (calls + 1) * limiter.store.most < decisions:
            raise RuntimeError(f"{decisions:,} decisions on {calls:,} leases: some had none")
        shares.append(calls / decisions)
        memory.append(_slice(beside, seconds)[1] / rate)
    limiter.store.close()
    figures = {"best": max(rates), "median": median(rates), "client_us": median(cpu)}
    return {**figures, "calls_a_decision": median(shares), "x_memory": median(memory)}


def _slice(run: Any, seconds: float) -> tuple[int, float, float]:
    """How many decisions there were, how many a second, and what CPU they took."""
    spent, begin, decisions = time.process_time(), time.perf_counter(), 0
    while (now := time.perf_counter()) < begin + seconds:
        run(repeat(measure.HOT, BATCH))
        decisions += BATCH
    return decisions, decisions / (now - begin), time.process_time() - spent


def saturated(server: Server, seconds: float) -> dict[str, Any]:
    """What several processes get out of one key, and what it costs the server."""
    question = json.dumps({"url": server.url, "seconds": seconds})
    command = [sys.executable, str(Path(__file__)), question]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(PROCESSES)
    ]
    try:
        for child in children:
            _hear(child)
        before = server.read()
        for child in children:
            _say(child)
        histories = [json.loads(child.communicate(timeout=PATIENCE)[0]) for child in children]
    finally:
        for child in children:
            child.kill()
    calls = server.read().since(before, "evalsha")[1]
    return judged(histories, calls)


def judged(histories: list[dict[str, Any]], calls: int) -> dict[str, Any]:
    """The figures of all processes together."""
    begin = min(each["begin"] for each in histories)
    end = max(each["end"] for each in histories)
    admitted = sorted((moment - begin) / 1e9 for each in histories for moment in each["admitted"])
    lasting, asked = (end - begin) / 1e9, sum(each["asked"] for each in histories)
    ttl = histories[0]["ttl"]
    return {
        "processes": len(histories),
        "seconds": lasting,
        "rate": asked / lasting,
        "admitted": len(admitted),
        "degraded": sum(each["degraded"] for each in histories),
        "share": len(admitted) / (BURST + RATE * lasting),
        "bound": BURST + RATE * (lasting + ttl),
        "spare": spare(admitted, BURST + RATE * ttl),
        "calls_a_yes": calls / max(1, len(admitted)),
    }


def spare(admitted: list[float], allowance: float) -> float:
    """How much more the busiest span could have admitted under `allowance` and the rate.

    Below 0 the bound was broken: more went in between two moments than the allowance and what came
    in between them.
    """
    worst, least = 0.0, inf
    for index, moment in enumerate(admitted):
        least = min(least, index - RATE * moment)
        worst = max(worst, index + 1 - RATE * moment - least)
    return allowance - worst


def _hear(child: subprocess.Popen[str]) -> None:
    if child.stdout is None or child.stdout.readline() != "ready\n":
        raise RuntimeError("a process did not get ready")


def _say(child: subprocess.Popen[str]) -> None:
    if child.stdin is not None:
        child.stdin.write("go\n")
        child.stdin.flush()


def _insist(url: str, seconds: float) -> dict[str, Any]:
    """What a child does: ask as fast as it can, and note when it was let in."""
    from headgate import Limiter, Rate, TokenBucket

    limit = TokenBucket(Rate.of(RATE, 1_000_000, BURST))
    limiter: Any = Limiter(limit, store=f"leased+{url}", name="benchmark-saturated")
    print("ready", flush=True)
    sys.stdin.readline()
    admitted: list[int] = []
    note, clock, take = admitted.append, time.monotonic_ns, limiter.take
    asked = degraded = 0
    begin = clock()
    end = begin + round(seconds * 1e9)
    while clock() < end:
        for _ in repeat(None, 1_000):
            decision = take(measure.HOT)
            if decision:
                note(clock())
            if decision.degraded:
                degraded += 1
        asked += 1_000
    said = {"begin": begin, "end": clock(), "asked": asked, "degraded": degraded}
    limiter.store.close()
    return {**said, "ttl": limiter.store.ttl, "admitted": admitted}


if __name__ == "__main__":
    print(json.dumps(_insist(**json.loads(sys.argv[1]))), flush=True)
