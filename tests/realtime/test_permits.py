"""Permits on the machine's own clock: they are kept up while held, and free when a process dies."""

from __future__ import annotations

import asyncio
import gc
import itertools
import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from contextlib import suppress

import pytest

from headgate import StoreUnavailable
from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.redis.methods import METHODS
from headgate.permits.redis.permits import RedisPermits
from tests.servers.launch import Server
from tests.servers.waiting import until

pytestmark = pytest.mark.realtime
methods = pytest.mark.parametrize("method", METHODS)

LIMIT, PROCESSES, THREADS, TTL, BETWEEN = 20, 8, 4, 2.0, 0.5
# Of each thread, so many visits are written down: when it came in and when it went.
VISITS = 1 << 14
SLOT = 1 + THREADS * VISITS * 2


class Crew:
    """Processes that come and go until they are killed, and what they have written down.

    It stands in memory that outlives each of them: how many zombies it has reported, and its
    visits. Whoever is killed inside was there until it was dead.
    """

    def __init__(self, url: str, method: str) -> None:
        self.url = url
        self.method = method
        self.memory = memoryview(mmap.mmap(-1, 8 * (1 + PROCESSES * SLOT))).cast("q")
        self.visits: list[tuple[int, int]] = []
        self.zombies = 0
        self.hands = [self.fork(number) for number in range(PROCESSES)]

    def fork(self, number: int) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                self.work(1 + number * SLOT)
            finally:
                os._exit(0)
        return child

    def work(self, base: int) -> None:
        permits = RedisPermits(self.url, LIMIT, self.method, TTL, "storm", budget=1.0)
        threads = [
            threading.Thread(target=self.call, args=(permits, base, base + 1 + n * VISITS * 2))
            for n in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def call(self, permits: RedisPermits, base: int, place: int) -> None:
        chance = random.Random()
        while not self.memory[0]:
            with suppress(StoreUnavailable):
                ticket = permits.enter("k")
                if ticket is None:
                    time.sleep(0.01)
                    continue
                self.memory[place] = time.monotonic_ns()
                # Some hold it for longer than it is lent.
                time.sleep(chance.choice([0.001, 0.02, 0.1, 0.1, 0.1, 3.0]))
                self.memory[place + 1] = time.monotonic_ns()
                permits.leave("k", ticket)
                self.memory[base] = permits.zombies
                place += 2

    def kill(self, number: int) -> None:
        """End one on the spot; another takes its place."""
        os.kill(self.hands[number], signal.SIGKILL)
        self.harvest(number)
        self.hands[number] = self.fork(number)

    def end(self) -> None:
        """Have all of them end in their own way."""
        self.memory[0] = 1
        for number in range(PROCESSES):
            self.harvest(number)

    def harvest(self, number: int) -> None:
        os.waitpid(self.hands[number], 0)
        slot = self.memory[1 + number * SLOT : 1 + (number + 1) * SLOT]
        self.zombies += slot[0]
        told = slot[1:].tolist()
        last = time.monotonic_ns()
        pairs = zip(told[::2], told[1::2], strict=True)
        self.visits += [(begin, end or last) for begin, end in pairs if begin]
        slot[:] = memoryview(bytes(8 * SLOT)).cast("q")

    def most(self) -> int:
        """How many there were at once, at most."""
        changes = [(begin, 1) for begin, _ in self.visits] + [(end, -1) for _, end in self.visits]
        return max(itertools.accumulate(change for _, change in sorted(changes)))


@methods
def test_processes_that_are_killed_all_the_time_never_let_in_too_many(
    valkey: Server, method: str, scale: int
) -> None:
    crew = Crew(valkey.url, method)
    turns = int((60.0 if scale > 1 else 12.0) / BETWEEN)
    for turn in range(turns):
        time.sleep(BETWEEN)
        crew.kill(turn % PROCESSES)
    crew.end()
    time.sleep(TTL)

    assert len(crew.visits) > 10 * LIMIT
    assert LIMIT / 2 < crew.most() <= LIMIT + crew.zombies
    permits = RedisPermits(valkey.url, LIMIT, method, TTL, "storm", budget=5.0)
    assert permits.inside("k") == 0
    assert [permits.enter("k") is None for _ in range(LIMIT + 1)] == [False] * LIMIT + [True]
    permits.close()


@methods
def test_what_a_killed_process_held_is_free_within_one_ttl(valkey: Server, method: str) -> None:
    work = (
        "import sys, time; from headgate.permits.redis.permits import RedisPermits\n"
        "p = RedisPermits(sys.argv[1], 3, sys.argv[2], 1.0, 'killed', budget=5.0)\n"
        "print([p.enter('k') is not None for _ in range(4)].count(True), flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", work, valkey.url, method]
    hand = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert hand.stdout is not None
    assert hand.stdout.readline() == "3\n"
    permits = RedisPermits(valkey.url, 3, method, 1.0, "killed", budget=5.0)
    # While it lives nothing is free, long after its ttl.
    time.sleep(2.5)
    assert (permits.inside("k"), permits.enter("k")) == (3, None)
    hand.kill()
    hand.communicate()
    time.sleep(1.0)

    assert [permits.enter("k") is None for _ in range(4)] == [False, False, False, True]
    permits.close()


@methods
def test_a_busy_loop_does_not_lose_what_it_holds(valkey: Server, method: str) -> None:
    async def scene() -> tuple[bool, int]:
        permits = AsyncRedisPermits(valkey.url, 2, method, 0.6, budget=5.0)
        ticket = await permits.enter("k")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            sum(range(1000))
        kept = await permits.leave("k", ticket), permits.zombies
        await permits.close()
        return kept

    assert asyncio.run(scene()) == (True, 0)


@methods
def test_a_process_that_was_stopped_reports_what_it_has_lost(valkey: Server, method: str) -> None:
    work = (
        "import sys; from headgate.permits.redis.permits import RedisPermits\n"
        "p = RedisPermits(sys.argv[1], 3, sys.argv[2], 0.6, 'stopped', budget=5.0)\n"
        "held = [p.enter('k') for _ in range(3)]\n"
        "print('inside', flush=True)\n"
        "sys.stdin.readline()\n"
        "print([p.leave('k', one) for one in held].count(None), p.zombies, flush=True)\n"
    )
    command = [sys.executable, "-c", work, valkey.url, method]
    hand = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert hand.stdout is not None
    assert hand.stdout.readline() == "inside\n"
    permits = RedisPermits(valkey.url, 3, method, 0.6, "stopped", budget=5.0)
    hand.send_signal(signal.SIGSTOP)
    until(lambda: permits.enter("k"), "the first place")
    others = [permits.enter("k"), permits.enter("k")]
    hand.send_signal(signal.SIGCONT)
    # It finds out by itself, within a third of the ttl.
    time.sleep(0.6)
    said, _ = hand.communicate("\n", timeout=30)

    assert None not in others
    assert said == "0 3\n"
    permits.close()


@methods
def test_the_thread_is_there_while_something_is_held(valkey: Server, method: str) -> None:
    permits = RedisPermits(valkey.url, 2, method, 0.5, "thread", budget=5.0)
    before = wardens()
    ticket = permits.enter("k")
    (thread,) = wardens() - before
    assert thread.daemon
    time.sleep(1.0)
    assert thread.is_alive()
    permits.leave("k", ticket)
    # Windows have to move along once more who has left in another than it entered.
    until(lambda: not thread.is_alive(), "the thread to end")
    permits.close()


def test_permits_that_nobody_has_are_not_kept_up(valkey: Server) -> None:
    permits = RedisPermits(valkey.url, 2, ttl=0.5, name="dropped", budget=5.0)
    before = wardens()
    permits.enter("k")
    (thread,) = wardens() - before
    seen = weakref.ref(permits)
    del permits
    gc.collect()

    assert seen() is None
    until(lambda: not thread.is_alive(), "the thread to end")
    judge = RedisPermits(valkey.url, 2, ttl=0.5, name="dropped", budget=5.0)
    until(lambda: judge.inside("k") == 0, "its time to be over")
    judge.close()


@methods
def test_a_program_that_ends_gives_back_what_it_holds_and_ends_at_once(
    valkey: Server, method: str
) -> None:
    work = (
        "import sys; from headgate.permits.redis.permits import RedisPermits\n"
        "p = RedisPermits(sys.argv[1], 3, sys.argv[2], 60.0, 'ends', budget=5.0)\n"
        "p.enter('k')\n"
    )
    subprocess.run([sys.executable, "-c", work, valkey.url, method], check=True, timeout=20)
    permits = RedisPermits(valkey.url, 3, method, 60.0, "ends", budget=5.0)

    assert permits.inside("k") == 0
    permits.close()


def wardens() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "headgate warden"}
