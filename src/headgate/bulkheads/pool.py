"""Pool: threads of their own for calls to one dependency, so that it can hang nothing else.

A semaphore keeps too many from waiting for a slow service; whoever is inside still waits, in its
own thread, for as long as the service likes. A pool takes the call into a thread of its own: the
caller leaves when its time is up, and what hangs are the pool's threads and no others. The price is
a switch of threads for each call.

The threads are not those of `concurrent.futures`: there a call that was given up stays in the queue
until a thread is free to throw it away, and a call that hangs keeps the program from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial, wraps
from inspect import iscoroutinefunction
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.bulkheads.bulkhead import Bulkhead
from headgate.bulkheads.slot import Slot
from headgate.errors import BulkheadFull
from headgate.fork import follow
from headgate.measures import seconds, whole
from headgate.wrapper import refuse, title

P = ParamSpec("P")
R = TypeVar("R")

# A thread that has had nothing to do for so many seconds ends.
IDLE = 60.0
CLOSED = "the pool is closed"


class Pool:
    """Runs calls in at most `limit` threads; `queue` more wait for one, the others are refused.

    Its threads never keep the program from ending: what a call must finish, `close` waits for.
    """

    def __init__(self, limit: int, queue: int = 0, name: str = "") -> None:
        self.limit = whole("Pool", "limit", limit, 1, 10_000)
        self.queue = whole("Pool", "queue", queue, 0)
        self.name = name
        self._places = Bulkhead(limit + queue, name=name)
        self._closed = False
        self._jobs: OrderedDict[Future[Any], Job] = OrderedDict()
        self._begin()
        follow(self, renew)

    def submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Let a thread of the pool call it; raises `BulkheadFull` if there is no place for it."""
        if not callable(function):
            raise TypeError(f"Pool: a thread calls a function, not {function!r}")
        if iscoroutinefunction(function):
            raise TypeError(f"Pool: {title(function)} is an async def, which needs no thread")
        slot: Any = self._places.take()
        if not slot:
            raise BulkheadFull(self.name, self.limit, "queue")
        job = Job(partial(function, *args, **kwargs), slot)
        try:
            self._add(job)
        except BaseException:
            # Interrupted so late that a thread has it already, it keeps its place until it returns.
            if job.future.cancel():
                slot.ignore()
            raise
        job.future.add_done_callback(lambda future: self._drop(future, slot))
        return job.future

    def run(self, function: Callable[[], R], timeout: float = inf) -> R:
        """What it returns, within `timeout` seconds, or `TimeoutError`.

        A call that is late goes on in its thread, and keeps its place, until it returns. One that
        has not even begun is not made, and `BulkheadFull` says so.
        """
        patience = bounded(timeout)
        with self._errand(function) as future:
            return future.result(patience)

    async def arun(self, function: Callable[[], R], timeout: float = inf) -> R:
        """`run` for event loops: other tasks go on meanwhile."""
        limit = asyncio.timeout(bounded(timeout))
        with self._errand(function) as future:
            async with limit:
                return await asyncio.wrap_future(future)

    def guard(self, timeout: float = inf) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def`: each call is made in a thread of the pool, and waited for."""
        bounded(timeout)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            refuse("Pool", function, "guard a function that loops over it")
            if iscoroutinefunction(function):
                raise TypeError(
                    f"Pool.guard: {title(function)} is an async def, which needs no thread; use "
                    "Bulkhead.guard"
                )

            @wraps(function)
            def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
                return self.run(partial(function, *args, **kwargs), timeout)

            return guarded

        return decorate

    def inside(self) -> int:
        """How many calls run or wait for a thread."""
        return self._places.inside()

    def close(self) -> None:
        """Make no more calls; those that run are waited for, those that have not begun fail."""
        with self._work:
            self._closed = True
            jobs, self._jobs = self._jobs, OrderedDict()
            threads = self._threads - {threading.current_thread()}
            self._work.notify_all()
        for job in jobs.values():
            job.refuse()
        for thread in threads:
            thread.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        return f"<Pool{named}: {self.inside()} of {self.limit} + {self.queue} inside>"

    def _begin(self) -> None:
        # Without threads and calls: as it is at first, and in a forked child, which inherits none.
        self._work = threading.Condition(threading.Lock())
        self._jobs = OrderedDict()
        self._threads: set[threading.Thread] = set()
        self._idle = self._born = 0

    def _add(self, job: Job) -> None:
        # Where more calls wait than threads, there is one more thread, as long as there may be.
        with self._work:
            if self._closed:
                raise RuntimeError(CLOSED)
            self._jobs[job.future] = job
            if self._idle >= len(self._jobs):
                self._work.notify()
            elif len(self._threads) < self.limit:
                try:
                    self._hire()
                except BaseException:
                    self._jobs.pop(job.future, None)
                    raise

    def _hire(self) -> None:
        self._born += 1
        name = f"{self.name or 'headgate pool'}-{self._born}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except BaseException:
            self._threads.discard(thread)
            raise

    def _serve(self) -> None:
        # The life of a thread.
        while (job := self._next()) is not None:
            job.make()
            # While it waits for the next, it keeps nothing of this one alive.
            del job

    def _next(self) -> Job | None:
        # The next call, or None: the thread is to end.
        with self._work:
            self._idle += 1
            self._work.wait_for(lambda: self._jobs or self._closed, IDLE)
            self._idle -= 1
            if self._jobs:
                return self._jobs.popitem(last=False)[1]
            self._threads.discard(threading.current_thread())
            return None

    def _drop(self, future: Future[Any], slot: Slot) -> None:
        # Of a call that was cancelled before it began nothing stays: no place, no entry in the
        # queue. Who takes it out of there, this or a thread, tells those who wait for the future.
        if future.cancelled():
            slot.ignore()
            with self._work:
                waited = self._jobs.pop(future, None)
            if waited is not None:
                future.set_running_or_notify_cancel()

    @contextmanager
    def _errand(self, function: Callable[[], R]) -> Iterator[Future[R]]:
        # A call whose caller may leave before it returns.
        future = self.submit(function)
        try:
            yield future
        except TimeoutError:
            # A call that has not begun says nothing about the one who would have been called.
            if future.cancel():
                raise BulkheadFull(self.name, self.limit, "timeout") from None
            raise
        finally:
            future.cancel()


class Job:
    """One call for a thread to make, in the context of who asked for it."""

    __slots__ = ("context", "function", "future", "slot")

    def __init__(self, function: Callable[[], Any], slot: Slot) -> None:
        self.function = function
        self.slot = slot
        self.context = contextvars.copy_context()
        self.future: Future[Any] = Future()

    def make(self) -> None:
        """Call it, give the place back, then say what came of it: who hears it may come again."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.context.run(self.function)
        except BaseException as problem:
            self.slot.ignore()
            self.future.set_exception(problem)
            # The problem remembers where it was caught, here: it would hold the call, which
            # holds the problem.
            del self
        else:
            self.slot.success()
            self.future.set_result(result)

    def refuse(self) -> None:
        """Say that it will not be made. Not by cancelling: a task would think that it was meant."""
        if self.future.set_running_or_notify_cancel():
            self.slot.ignore()
            self.future.set_exception(RuntimeError(CLOSED))


def bounded(timeout: float) -> float | None:
    """How many seconds to wait at most; None if there is no end, or none that a wait can have."""
    seconds("Pool", "timeout", timeout)
    return None if timeout > threading.TIMEOUT_MAX else timeout


def renew(pool: Pool) -> None:
    """Give the pool of a forked child threads of its own."""
    for job in pool._jobs.values():
        job.slot.ignore()
    pool._begin()
