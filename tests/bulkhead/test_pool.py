"""A pool's threads may hang; whoever called leaves in time, and every place comes back."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any

import pytest

import headgate.bulkheads.pool
from headgate import BulkheadFull, Pool
from tests.servers.waiting import until

# Long enough for any thread to be asleep, short enough not to be noticed.
SOON = 0.01
# Long enough for a call to begin on the busiest machine.
LATE = 1.0
WORD: contextvars.ContextVar[str] = contextvars.ContextVar("WORD", default="nobody's")


class Hang:
    """A call that hangs until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.end = threading.Event()
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        self.begun.release()
        assert self.end.wait(60)
        return "late"

    def in_thread(self, pool: Pool) -> Future[str]:
        """Make the call in the pool, and come back once it hangs there."""
        future = pool.submit(self)
        assert self.begun.acquire(timeout=60)
        return future


@pytest.fixture
def hang() -> Iterator[Hang]:
    call = Hang()
    yield call
    call.end.set()


@contextmanager
def filled(hang: Hang, limit: int = 1, queue: int = 0) -> Iterator[Pool]:
    """A pool all of whose threads hang."""
    with Pool(limit, queue, "db") as pool:
        for _ in range(limit):
            hang.in_thread(pool)
        try:
            yield pool
        finally:
            hang.end.set()


def test_a_call_is_made_in_a_thread_of_the_pool_and_its_result_comes_back() -> None:
    with Pool(2, name="db") as pool:
        names = {pool.run(lambda: threading.current_thread().name) for _ in range(20)}
        place = pool.run(threading.get_ident)

    assert names <= {"db-1", "db-2"}
    assert place != threading.get_ident()


def test_threads_of_a_nameless_pool_say_whose_they_are() -> None:
    with Pool(1) as pool:
        assert pool.run(lambda: threading.current_thread().name) == "headgate pool-1"


@pytest.mark.parametrize("problem", [ValueError("x"), TimeoutError("its own"), SystemExit(3)])
@pytest.mark.parametrize("timeout", [60.0, float("inf")])
def test_what_a_call_raises_passes_to_the_caller_as_it_is(
    problem: BaseException, timeout: float
) -> None:
    def fail() -> None:
        raise problem

    with Pool(1) as pool:
        with pytest.raises(type(problem)) as caught:
            pool.run(fail, timeout)
        with pytest.raises(type(problem)) as awaited:
            asyncio.run(pool.arun(fail, timeout))

        assert caught.value is problem
        # Of its own kind of TimeoutError asyncio makes a copy.
        assert repr(awaited.value) == repr(problem)
        assert (pool.inside(), pool.run(lambda: 1)) == (0, 1)


def test_at_most_so_many_run_at_once() -> None:
    lock = threading.Lock()
    inside = most = 0
    full = threading.Barrier(3)

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        full.wait(60)
        with lock:
            inside -= 1

    with Pool(3, queue=27) as pool:
        for future in [pool.submit(work) for _ in range(30)]:
            future.result(60)

    assert (most, pool.inside()) == (3, 0)


def test_calls_of_a_queue_are_made_in_their_order(hang: Hang) -> None:
    order: list[int] = []
    with filled(hang, queue=20) as pool:
        futures = [pool.submit(order.append, number) for number in range(20)]
        hang.end.set()
        for future in futures:
            future.result(60)

    assert order == list(range(20))


def test_beyond_threads_and_queue_a_call_is_refused_at_once(hang: Hang) -> None:
    with filled(hang, limit=2, queue=1) as pool:
        pool.submit(len, "abc")
        for _ in range(3):
            with pytest.raises(BulkheadFull) as refusal:
                pool.submit(len, "abc")

        assert (pool.inside(), repr(pool)) == (3, "<Pool 'db': 3 of 2 + 1 inside>")
    assert str(refusal.value) == (
        'all 2 places of the bulkhead "db" are taken, and so is its queue'
    )
    assert pool.inside() == 0


@pytest.mark.parametrize("problem", [None, ValueError("x")])
def test_who_has_its_answer_finds_a_place_for_its_next_call(
    hang: Hang, problem: Exception | None
) -> None:
    def work() -> None:
        hang()
        if problem is not None:
            raise problem

    heard: list[int] = []
    with Pool(1) as pool:
        future = pool.submit(work)
        future.add_done_callback(lambda _: heard.append(pool.inside()))
        hang.end.set()

    assert heard == [0]


def test_one_caller_may_fill_a_pool_all_the_time(scale: int) -> None:
    with Pool(1) as pool:
        answers = [pool.run(lambda: 1) for _ in range(500 * scale)]

    assert sum(answers) == 500 * scale


def test_a_late_call_raises_and_keeps_its_place_until_it_returns(hang: Hang) -> None:
    with Pool(1) as pool:
        with pytest.raises(TimeoutError):
            pool.run(hang, LATE)
        assert hang.calls == 1
        with pytest.raises(BulkheadFull):
            pool.run(hang)

        hang.end.set()

        assert until(lambda: pool.inside() == 0, "the late call to return")
        assert pool.run(lambda: 1) == 1


def test_a_call_that_has_not_begun_in_time_is_not_made_and_says_nothing_about_the_called(
    hang: Hang,
) -> None:
    made: list[int] = []
    with filled(hang, queue=1) as pool:
        for number in range(3):
            with pytest.raises(BulkheadFull) as refusal:
                pool.run(lambda number=number: made.append(number), SOON)  # type: ignore[misc]
            assert (refusal.value.reason, pool.inside()) == ("timeout", 1)

    assert made == []


def test_calls_that_were_given_up_leave_nothing_behind_while_the_threads_hang(hang: Hang) -> None:
    class Load:
        """What a call carries."""

    # What there was before the test would be looked through as well.
    gc.freeze()
    loads: list[weakref.ref[Load]] = []

    def carry(load: Load) -> Callable[[], object]:
        loads.append(weakref.ref(load))
        return lambda: load

    with filled(hang, queue=5) as pool:
        for _ in range(100):
            with pytest.raises(BulkheadFull):
                pool.run(carry(Load()), 0.0)
        gc.collect()

        assert [load for load in loads if load() is not None] == []
        assert pool.inside() == 1


def test_a_result_is_not_kept_by_the_thread_that_made_it() -> None:
    class Load:
        """What a call returns."""

    with Pool(1) as pool:
        seen = weakref.ref(pool.run(Load))

        assert until(lambda: seen() is None, "the result to be let go")


def test_what_a_call_raised_keeps_nothing_alive() -> None:
    class Load:
        """What a call carries."""

    def fail(load: Load) -> None:
        raise ValueError

    gc.disable()
    try:
        with Pool(1) as pool:
            load = Load()
            seen = weakref.ref(load)
            future = pool.submit(fail, load)
            del load
            assert isinstance(future.exception(60), ValueError)
            del future

            assert until(lambda: seen() is None, "the load to be let go without the collector")
    finally:
        gc.enable()


def test_a_call_sees_the_context_of_its_caller_and_changes_only_its_own() -> None:
    def work() -> str:
        before = WORD.get()
        WORD.set("the thread's")
        return before

    with Pool(1) as pool:
        token = WORD.set("mine")
        first = [pool.run(work), pool.run(work), WORD.get()]
        WORD.reset(token)
        second = [pool.run(work), asyncio.run(pool.arun(work))]

    assert (first, second) == (["mine"] * 3, ["nobody's"] * 2)


def test_a_caller_that_is_interrupted_leaves_and_the_call_keeps_its_place(hang: Hang) -> None:
    class Interrupted(BaseException):
        """What a signal raises in the main thread."""

    noticed = threading.Event()

    def interrupt(*_: object) -> None:
        if not noticed.is_set():
            noticed.set()
            raise Interrupted

    caller = threading.get_ident()

    def work() -> str:
        # To that thread: one that waits is not woken by a signal that another got. And again: one
        # that comes just before a thread begins to wait is not noticed while it does.
        while not noticed.wait(0.01):
            signal.pthread_kill(caller, signal.SIGUSR1)
        return hang()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with Pool(1) as pool:
            with pytest.raises(Interrupted):
                pool.run(work)
            held = pool.inside()
            hang.end.set()
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert (held, pool.inside()) == (1, 0)


def test_a_future_may_be_cancelled_until_its_call_begins(hang: Hang) -> None:
    with filled(hang, queue=2) as pool:
        running = hang.in_thread(Pool(1))
        waiting = [pool.submit(len, "abc") for _ in range(2)]

        assert (running.cancel(), [future.cancel() for future in waiting]) == (False, [True, True])
        # Whoever waits for all of them hears of it, though every thread hangs.
        assert wait(waiting, 60).not_done == set()
        assert pool.inside() == 1
        with pytest.raises(CancelledError):
            waiting[0].result()


def test_a_task_waits_while_others_go_on(hang: Hang) -> None:
    async def main() -> list[Any]:
        with Pool(1) as pool:
            task = asyncio.create_task(pool.arun(hang))
            await turn_until(lambda: hang.calls == 1)
            during = (pool.inside(), task.done())
            hang.end.set()
            return [during, await task, pool.inside()]

    assert asyncio.run(main()) == [(1, False), "late", 0]


def test_a_task_leaves_in_time_whether_its_call_has_begun_or_not(hang: Hang) -> None:
    async def main() -> tuple[type[Exception], str, int, int]:
        with Pool(1, queue=1) as pool:
            late, refused = await asyncio.gather(
                pool.arun(hang, LATE), pool.arun(hang, LATE), return_exceptions=True
            )
            assert isinstance(late, TimeoutError)
            assert isinstance(refused, BulkheadFull)
            held = pool.inside()
            hang.end.set()
        return type(late), refused.reason, held, pool.inside()

    assert asyncio.run(main()) == (TimeoutError, "timeout", 1, 0)
    assert hang.calls == 1


@pytest.mark.parametrize("timeout", [60.0, float("inf")])
def test_a_cancelled_task_is_cancelled_and_its_call_is_made_only_if_it_had_begun(
    hang: Hang, timeout: float
) -> None:
    async def main() -> tuple[bool, bool, int, int]:
        with Pool(1, queue=1) as pool:
            first = asyncio.create_task(pool.arun(hang, timeout))
            await turn_until(lambda: hang.calls == 1)
            second = asyncio.create_task(pool.arun(hang, timeout))
            await turn_until(lambda: pool.inside() == 2)
            for task in (first, second):
                task.cancel()
            await asyncio.gather(first, second, return_exceptions=True)
            held = pool.inside()
            hang.end.set()
        return first.cancelled(), second.cancelled(), held, pool.inside()

    assert asyncio.run(main()) == (True, True, 1, 0)
    assert hang.calls == 1


def test_a_late_call_may_return_after_its_loop_is_closed(
    hang: Hang, caplog: pytest.LogCaptureFixture
) -> None:
    with Pool(1) as pool:
        with pytest.raises(TimeoutError):
            asyncio.run(pool.arun(hang, LATE))
        hang.end.set()

    assert (pool.inside(), caplog.records) == (0, [])


def test_closing_waits_for_what_runs_and_fails_what_waits(hang: Hang) -> None:
    pool = Pool(1, queue=1)
    running, waiting = hang.in_thread(pool), pool.submit(len, "abc")
    closing = threading.Thread(target=pool.close)
    closing.start()

    with pytest.raises(RuntimeError, match=r"^the pool is closed$"):
        waiting.result(60)
    assert (pool.inside(), closing.is_alive(), running.done()) == (1, True, False)
    hang.end.set()
    closing.join(60)

    assert (running.result(0), pool.inside(), closing.is_alive()) == ("late", 0, False)


def test_a_closed_pool_makes_no_more_calls_and_may_be_closed_again() -> None:
    with Pool(1) as pool:
        pool.run(lambda: 1)
    pool.close()

    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"^the pool is closed$"):
            pool.run(lambda: 1)
    assert pool.inside() == 0


def test_a_task_whose_pool_is_closed_is_told_so_and_not_cancelled(hang: Hang) -> None:
    async def main() -> BaseException | None:
        pool = Pool(1, queue=1)
        hang.in_thread(pool)
        task = asyncio.create_task(pool.arun(lambda: 1))
        await turn_until(lambda: pool.inside() == 2)
        hang.end.set()
        closing = asyncio.to_thread(pool.close)
        await asyncio.gather(closing, task, return_exceptions=True)
        return None if task.cancelled() else task.exception()

    # The thread may have come to it first.
    assert repr(asyncio.run(main())) in {"RuntimeError('the pool is closed')", "None"}


def test_a_call_may_close_its_own_pool() -> None:
    pool = Pool(1)

    assert pool.run(pool.close, 60) is None
    assert until(lambda: pool.inside() == 0, "the place")


def test_threads_that_have_nothing_to_do_end_and_new_ones_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(headgate.bulkheads.pool, "IDLE", SOON)
    pool = Pool(2, name="brief")
    pool.run(lambda: 1)

    assert until(lambda: not crew("brief"), "the threads to end")
    assert pool.run(lambda: 2) == 2


def test_a_pool_that_nobody_has_any_more_goes_with_its_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What there was before the test would be looked through as well.
    gc.freeze()
    monkeypatch.setattr(headgate.bulkheads.pool, "IDLE", SOON)
    pool = Pool(2, name="lost")
    pool.run(lambda: 1)
    seen = weakref.ref(pool)
    del pool

    assert until(lambda: gc.collect() is not None and seen() is None, "the pool to go")
    assert crew("lost") == []


def test_where_no_thread_can_be_started_the_place_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = Pool(1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                pool.run(lambda: 1)

    assert (pool.inside(), pool.run(lambda: 1)) == (0, 1)
    pool.close()


def test_a_forked_child_has_threads_and_places_of_its_own(hang: Hang) -> None:
    with filled(hang, limit=1, queue=1) as pool:
        waiting = pool.submit(len, "abc")
        child = os.fork()
        if child == 0:
            # Not `with`: whatever happens here must not run the tests again.
            try:
                good = pool.inside() == 0 and [pool.run(lambda: 1, 30) for _ in range(3)] == [1] * 3
                os._exit(0 if good and pool.inside() == 0 else 1)
            finally:
                os._exit(2)
        _, status = os.waitpid(child, 0)

        assert (os.waitstatus_to_exitcode(status), pool.inside()) == (0, 2)
        hang.end.set()
        assert waiting.result(60) == 3


HUNG = """
import threading
from headgate import Pool
pool = Pool(1)
try:
    pool.run(threading.Event().wait, 1.0)
except TimeoutError:
    print("late")
"""


def test_a_call_that_hangs_does_not_keep_the_program_from_ending() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HUNG], capture_output=True, text=True, timeout=60, check=True
    )

    assert (done.stdout, done.stderr) == ("late\n", "")


def test_a_guarded_function_is_called_in_the_pool_and_stays_what_it_was() -> None:
    with Pool(1, name="db") as pool:

        @pool.guard(timeout=60)
        def add(a: int, b: int = 2) -> tuple[int, str]:
            """Add."""
            return a + b, threading.current_thread().name

        assert add(1, b=3) == (4, "db-1")
        assert (add.__name__, add.__doc__) == ("add", "Add.")
        assert list(inspect.signature(add).parameters) == ["a", "b"]


def test_a_guarded_function_that_is_late_raises(hang: Hang) -> None:
    with Pool(1) as pool:
        with pytest.raises(TimeoutError):
            pool.guard(LATE)(hang)()
        hang.end.set()


async def fetch() -> None:
    """An async def."""


def numbers() -> Generator[int, None, None]:
    """A generator."""
    yield 1


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda _: Pool(0), "Pool: limit is 1 or more, not 0"),
        (lambda _: Pool(10_001), "Pool: limit is from 1 to 10,000, not 10001"),
        (lambda _: Pool(True), "Pool: limit is a whole number, not True"),
        (lambda _: Pool(1, -1), "Pool: queue is 0 or more, not -1"),
        (
            lambda _: Pool(1, 0.5),  # type: ignore[arg-type]
            "Pool: queue is a whole number, not 0.5",
        ),
        (lambda pool: pool.run(len, -1), "Pool: timeout is 0 or more seconds, not -1"),
        (lambda pool: pool.run(len, "1"), "Pool: timeout is a number of seconds, not '1'"),
        (
            lambda pool: pool.run(len, float("nan")),
            "Pool: timeout is 0 or more seconds, not nan",
        ),
        (lambda pool: pool.guard(-1), "Pool: timeout is 0 or more seconds, not -1"),
        (lambda pool: pool.run(None), "Pool: a thread calls a function, not None"),
        (
            lambda pool: pool.submit(fetch),
            "Pool: fetch is an async def, which needs no thread",
        ),
        (
            lambda pool: pool.guard()(fetch),
            "Pool.guard: fetch is an async def, which needs no thread; use Bulkhead.guard",
        ),
        (
            lambda pool: pool.guard()(numbers),
            "Pool.guard: numbers is a generator, and runs when it is looped over; guard a "
            "function that loops over it",
        ),
    ],
)
def test_misuse_is_named(misuse: Callable[[Pool], object], message: str) -> None:
    pool = Pool(1)

    with pytest.raises((TypeError, ValueError)) as caught:
        misuse(pool)

    assert (str(caught.value), pool.inside()) == (message, 0)


def test_a_timeout_longer_than_a_thread_can_wait_is_none() -> None:
    with Pool(1) as pool:
        assert pool.run(lambda: 1, 1e30) == 1
        assert asyncio.run(pool.arun(lambda: 2, 1e30)) == 2


def crew(name: str) -> list[str]:
    """The threads of a pool."""
    return [each.name for each in threading.enumerate() if each.name.startswith(name)]


async def turn_until(condition: Callable[[], object]) -> None:
    """Let the loop turn until it is so."""
    while not condition():
        await asyncio.sleep(0)
