"""Pacer: the leaky bucket as a queue. Callers come as they like and leave evenly.

A limiter says how much may go in over time and lets bursts through; a pacer spreads them: between
two departures lies at least the time that the first of them costs. Who has to wait stands in line,
by age or by priority. The line has a size, and those in it have a deadline: whoever cannot leave in
time is told at once where that is known, and else leaves unserved.

    pacer = Pacer("100/s", size=50)
    with pacer.turn(timeout=0.5):
        ...

Choose the rate by what the other end can take for as long as it likes, not by what it survives for
a moment: after the pacer, nothing smooths any more. Choose the size by how long anybody may wait,
with `Pacer.sized`. A line that is too long answers those who have given up long ago, and hides an
overload; one that is too short refuses at the first ripple what could have been served a moment
later. A larger line never makes more calls leave: if it is always full, the rate is too low.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from inspect import iscoroutinefunction
from math import inf
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, TypeVarTuple

from headgate.clock import Clock, SystemClock
from headgate.fork import follow
from headgate.measures import FOREVER, MILLION, number, seconds, whole
from headgate.pacers.queue import Queue
from headgate.pacers.turn import Gate, Turn
from headgate.pacers.worker import Call, Worker
from headgate.rate import Rate
from headgate.wrapper import around, refuse, title

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Sliced(Protocol):
    """What has a length and can be cut: bytes, a memoryview, a string, a list."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> Any: ...


Piece = TypeVar("Piece", bound=Sliced)
# A piece of a stream is as much as leaves in so many microseconds.
PIECE = 50_000


class Pacer:
    """Lets callers go evenly, at `rate`; at most `size` of them wait.

    Threads and tasks may share a pacer, and all stand in one line: `with pacer.turn()` holds up a
    thread, `async with pacer.turn()` and `await pacer.turn()` a task. Who has waited longest goes
    first; a level of `priority` counts as `ageing` seconds of waiting.

    Time in which nobody wanted to leave is lost, and so is that by which somebody was late: nothing
    ever leaves in a burst to catch up. With `slack`, so many missed gaps may be made up, and the
    rate is then kept on average even where the machine wakes sleepers late.

    Departures are timed to some microseconds, which a clock that ticks in milliseconds does not do:
    a thread at the head of the line asks the time for its last 150 microseconds, a task lets its
    loop turn for its last 1.2 milliseconds.
    """

    def __init__(
        self,
        rate: Rate | str,
        size: float = inf,
        *,
        ageing: float = 1.0,
        slack: int = 0,
        name: str = "",
        clock: Clock | None = None,
    ) -> None:
        self.size = size
        self.name = name
        self.clock = SystemClock() if clock is None else clock
        self._rate = pace(rate)
        self._ageing = seconds("Pacer", "ageing", ageing)
        room = FOREVER if size == inf else whole("Pacer", "size", size, 0)
        slack = whole("Pacer", "slack", slack, 0)
        self._gate = Gate(Queue(self._rate, room, slack, self.clock.now()), self.clock, name)
        self._worker = Worker(self._gate)
        follow(self, renew)

    @staticmethod
    def sized(rate: Rate | str, wait: float, cost: int = 1) -> int:
        """The size with which nobody waits longer than `wait` seconds, if each costs `cost`.

        That is for equals: with priorities, some wait less and others longer.
        """
        gain, scale = pace(rate).reduced
        patience = seconds("Pacer", "wait", wait)
        return patience * gain // (scale * whole("Pacer", "cost", cost, 1))

    @property
    def rate(self) -> Rate:
        """How much leaves in how long."""
        return self._rate

    def change(self, rate: Rate | str) -> None:
        """Go at another pace from now on, also for those who wait.

        What the last to leave has not paid yet is paid at the new pace.
        """
        with self._gate.lock:
            self._rate = pace(rate)
            self._gate.queue.change(self._rate, self.clock.now())
            self._gate.queue.rouse()

    def turn(self, cost: int = 1, timeout: float = inf, priority: float = 0) -> Turn:
        """A turn to leave, to be waited for by `with`, `async with` or `await`.

        Raises `PacerFull` when as many wait as may, or when one cannot leave within `timeout`
        seconds: at once if that is clear from what stands before it, else when the time is up.
        Nothing is lost by those who give up: the next leaves in their place.
        """
        return Turn(self._gate, *self._terms(cost, timeout, priority))

    def acquire(self, cost: int = 1, timeout: float = inf, priority: float = 0) -> Turn:
        """Wait for a turn here and now, holding up the thread; see `turn`."""
        return self.turn(cost, timeout, priority).__enter__()

    def guard(
        self, cost: int = 1, timeout: float = inf, priority: float = 0
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def` or an `async def`: each call waits for its turn."""
        terms = self._terms(cost, timeout, priority)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            refuse("Pacer", function, "use `with pacer.turn()` in it")
            return around(function, "", lambda _: Turn(self._gate, *terms))

        return decorate

    def stream(
        self,
        chunks: Iterable[Piece] | AsyncIterable[Piece],
        timeout: float = inf,
        priority: float = 0,
    ) -> Stream[Piece]:
        """Pass chunks on at the pace, each unit of their length costing 1: `for` or `async for`.

        Large ones are cut into pieces of what leaves in 50 ms, so that the flow is even. Each piece
        stands in line by itself, so streams that share a pacer take turns. Empty ones cost nothing.
        """
        return Stream(chunks, self._pieces, partial(self.turn, timeout=timeout, priority=priority))

    def submit(
        self,
        function: Callable[[*Ts], R],
        *args: *Ts,
        cost: int = 1,
        timeout: float = inf,
        priority: float = 0,
    ) -> Future[R]:
        """Let a worker call it in its turn; raises `PacerFull` as `turn` does.

        The worker makes one call at a time, in a thread that ends when there is nothing to do, and
        that does not keep the program from ending. Its calls stand in one line with all others. One
        that could not be made in time is not made, and its future raises `PacerFull`; one that is
        cancelled before it is made leaves its turn to the next.
        """
        if iscoroutinefunction(function):
            raise TypeError(
                f"Pacer.submit: {title(function)} is an async def, which needs no thread; use "
                "`await pacer.turn()`"
            )
        call = Call(partial(function, *args), *self._terms(cost, timeout, priority))
        self._worker.hand(call)
        return call.future

    def close(self) -> None:
        """Cancel the calls that wait for the worker, and wait for the one that is being made."""
        self._worker.close()

    def waiting(self) -> int:
        """How many stand in line."""
        return self._gate.queue.waiting

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        most = "" if self.size == inf else f" of {self.size}"
        return f"<Pacer{named}: {self.rate}, {self.waiting()}{most} in line>"

    def _terms(self, cost: int, timeout: float, priority: float) -> tuple[int, int, int]:
        # What one asks for, as the line counts it.
        patience = FOREVER if timeout is inf else seconds("Pacer", "timeout", timeout)
        lead = round(number("Pacer", "priority", priority, -MILLION, MILLION) * self._ageing)
        return whole("Pacer", "cost", cost, 1), patience, lead

    def _pieces(self, chunk: Piece) -> Iterator[Piece]:
        place = 0
        while place < len(chunk):
            # Asked each time, for the pace may have changed.
            length = max(1, self._rate.count * PIECE // self._rate.period)
            yield chunk[place : place + length]
            place += length
        if not len(chunk):
            yield chunk


class Stream(Generic[Piece]):
    """Chunks that are passed on at a pace; an async source is looped over by `async for`."""

    def __init__(
        self,
        chunks: Iterable[Piece] | AsyncIterable[Piece],
        pieces: Callable[[Piece], Iterator[Piece]],
        turn: Callable[[int], Turn],
    ) -> None:
        self._chunks = chunks
        self._pieces = pieces
        self._turn = turn

    def __iter__(self) -> Iterator[Piece]:
        if not isinstance(self._chunks, Iterable):
            raise TypeError("Pacer.stream: these chunks are async; use `async for`")
        for chunk in self._chunks:
            for piece in self._pieces(chunk):
                if piece:
                    self._turn(len(piece)).__enter__()
                yield piece

    async def __aiter__(self) -> AsyncIterator[Piece]:
        async for chunk in ready(self._chunks):
            for piece in self._pieces(chunk):
                if piece:
                    await self._turn(len(piece))
                yield piece


async def ready(chunks: Iterable[Piece] | AsyncIterable[Piece]) -> AsyncIterator[Piece]:
    """Chunks that may be there already, for those who await them."""
    if isinstance(chunks, AsyncIterable):
        async for chunk in chunks:
            yield chunk
    else:
        for chunk in chunks:
            yield chunk


def pace(rate: Rate | str) -> Rate:
    """A rate that lets some through and not all, one after the other."""
    rate = rate if isinstance(rate, Rate) else Rate(rate)
    if rate.unlimited or rate.count == 0:
        raise ValueError(f"Pacer: a pace lets some go and not all at once, not {str(rate)!r}")
    if rate.burst != rate.count:
        raise ValueError(f"Pacer: a pace has no burst, not {str(rate)!r}; try slack")
    return rate


def renew(pacer: Pacer) -> None:
    """Empty the line of a forked child: those who wait are its parent's."""
    pacer._gate.lock = threading.RLock()
    pacer._gate.queue.empty()
    pacer._worker.renew()
