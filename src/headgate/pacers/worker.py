"""Worker: makes calls that wait in a pacer's line, one after the other, in a thread of its own.

The thread is there while there is something to do: the first call starts it, and after the last it
ends. A call has its place in the line from the moment it is handed in, among all others who wait
there. While the worker is busy with one, those who wait for themselves go before its other calls,
so a slow call keeps nobody else from leaving.
"""

from __future__ import annotations

import contextvars
import heapq
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

from headgate.errors import PacerFull
from headgate.measures import FOREVER
from headgate.pacers.queue import CALLS, DEAD, LATE, LEFT, STANDING, WAITS, Waiter
from headgate.pacers.turn import Bell, Gate


class Call(Waiter):
    """A call in line, and the future of what comes of it."""

    __slots__ = ("context", "function", "future")

    def __init__(self, function: Callable[[], Any], cost: int, patience: int, lead: int) -> None:
        super().__init__(cost, patience, lead, CALLS)
        self.function = function
        self.context = contextvars.copy_context()
        self.future: Future[Any] = Future()

    def make(self) -> None:
        """Make it, and say what came of it."""
        try:
            result = self.context.run(self.function)
        except BaseException as problem:
            self.future.set_exception(problem)
            # The problem remembers where it was caught, here, and the future the problem.
            del self
        else:
            self.future.set_result(result)


class Worker:
    """Makes calls when it is their turn at the gate."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.renew()

    def renew(self) -> None:
        """Begin anew, without a thread: a forked child does not inherit it."""
        self.bell = Bell(self.gate.clock)
        self.thread: threading.Thread | None = None
        # Until when calls must have been made, the earliest first.
        self.deadlines: list[tuple[int, int, Call]] = []

    def hand(self, call: Call) -> None:
        """Let it be made in its turn; raises `PacerFull`."""
        call.bell = self.bell.ring
        with self.gate.lock:
            self.gate.look(call, self.gate.queue.stand)
            try:
                self._start()
            except BaseException:
                self.gate.queue.quit(call)
                raise
            self._watch(call)
        call.future.add_done_callback(lambda _: self.drop(call))

    def drop(self, call: Call) -> None:
        """Do not make it, if it waits."""
        with self.gate.lock:
            if self.gate.queue.quit(call):
                self.bell.ring()
                self.gate.queue.rouse()

    def close(self) -> None:
        """Cancel the calls that wait, and wait for the one that is being made."""
        with self.gate.lock:
            calls = [one for one in self.gate.queue.all() if isinstance(one, Call)]
            thread = self.thread
        for call in calls:
            call.future.cancel()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def run(self) -> None:
        """Work until there is nothing left to do."""
        try:
            while self.work():
                pass
        except BaseException:
            # Somebody's callback ended the thread; another one goes on.
            with self.gate.lock:
                self.thread = None
                self.gate.queue.busy = False
                self._start()
            raise

    def work(self) -> bool:
        """Do the next thing: make a call, refuse one that is late, or wait; false if none waits."""
        with self.gate.lock:
            self.gate.queue.busy = False
            call = self._next(self.gate.clock.now())
            if call is None:
                self.thread = None
                return False
            try:
                answer = self.gate.look(call, self._begin)
            except PacerFull as problem:
                refusal = problem
                answer = LATE
        if answer == LATE and call.future.set_running_or_notify_cancel():
            call.future.set_exception(refusal)
        elif answer == WAITS:
            self.bell.pause(call)
        elif answer == LEFT and call.future.running():
            call.make()
        return True

    def _watch(self, call: Call) -> None:
        # Look at it again when its time is up. Those that do not wait any more are forgotten.
        if len(self.deadlines) > 2 * self.gate.queue.waiting + DEAD:
            self.deadlines = [entry for entry in self.deadlines if entry[2].state == STANDING]
            heapq.heapify(self.deadlines)
        if call.deadline < FOREVER:
            heapq.heappush(self.deadlines, (call.deadline, call.ticket, call))

    def _next(self, now: int) -> Call | None:
        # One whose time is up, or else the first.
        while self.deadlines:
            deadline, _, call = self.deadlines[0]
            if call.state == STANDING and deadline > now:
                break
            heapq.heappop(self.deadlines)
            if call.state == STANDING:
                return call
        return cast("Call | None", self.gate.queue.call())

    def _begin(self, call: Waiter, now: int) -> int:
        queue, future = self.gate.queue, cast("Call", call).future
        due = queue.due
        answer = queue.step(call, now)
        if answer == LEFT:
            queue.busy = future.set_running_or_notify_cancel()
            if not queue.busy:
                # Cancelled at the last moment; the next leaves in its place.
                queue.due = due
        elif answer == WAITS and self.deadlines:
            call.until = min(call.until, self.deadlines[0][0])
        return answer

    def _start(self) -> None:
        # Have a thread that looks after the calls in line.
        if self.thread is not None:
            self.bell.ring()
        elif self.gate.queue.call() is not None:
            self.thread = threading.Thread(target=self.run, name="headgate worker", daemon=True)
            try:
                self.thread.start()
            except BaseException:
                self.thread = None
                raise
