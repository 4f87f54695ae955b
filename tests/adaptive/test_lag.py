"""Lag: how late an event loop is, told by a loop whose clock is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from headgate import ManualClock
from headgate.adaptive.lag import EVERY, UNASKED, Lag

PAUSE = EVERY / 1e6


class Late(asyncio.SelectorEventLoop):
    """A loop that waits for nothing: where others sleep until a timer is due, it jumps there."""

    def __init__(self) -> None:
        self.clock = ManualClock(100.0)
        self.lost = 0.0
        super().__init__()

    def time(self) -> float:
        return self.clock.now() / 1e6

    def _run_once(self) -> None:
        scheduled = self._scheduled  # type: ignore[attr-defined]
        if scheduled and not self._ready:  # type: ignore[attr-defined]
            # Each time it is late by as much as it is told to be.
            self.clock.set(max(self.time(), scheduled[0].when() + self.lost))
        super()._run_once()  # type: ignore[misc]


def run(work: Callable[[Late], object]) -> object:
    loop = Late()

    async def main() -> object:
        return await work(loop)  # type: ignore[misc]

    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


async def settle(lag: Lag, turns: int = 60) -> float:
    for _ in range(turns):
        lag()
        await asyncio.sleep(PAUSE)
    return lag()


@pytest.mark.parametrize(("lost", "expected"), [(0.0, 0.0), (0.05, 0.5), (0.1, 1.0), (0.3, 3.0)])
def test_the_share_of_full_by_which_a_loop_is_late(lost: float, expected: float) -> None:
    async def work(loop: Late) -> float:
        loop.lost = lost
        return await settle(Lag(full=0.1, clock=loop.clock))

    assert run(work) == pytest.approx(expected, abs=0.02)


def test_a_loop_that_is_held_up_now_counts_before_it_calls_back() -> None:
    async def work(loop: Late) -> tuple[float, float]:
        lag = Lag(full=0.1, smooth=1.0, clock=loop.clock)
        before = await settle(lag)
        loop.clock.advance(0.5)
        return before, lag()

    before, after = run(work)  # type: ignore[misc]
    assert before == 0.0
    assert after > 4.0


def test_it_comes_back_when_the_loop_does() -> None:
    async def work(loop: Late) -> float:
        lag = Lag(full=0.1, clock=loop.clock)
        loop.lost = 0.2
        await settle(lag)
        loop.lost = 0.0
        return await settle(lag)

    assert run(work) == pytest.approx(0.0, abs=0.01)


def test_a_loop_that_nobody_asks_about_is_left_alone() -> None:
    async def work(loop: Late) -> tuple[bool, bool]:
        lag = Lag(clock=loop.clock)
        lag()
        asked = lag.loop is loop
        await asyncio.sleep(PAUSE * (UNASKED + 5))
        return asked, lag.loop is None

    assert run(work) == (True, True)


def test_one_signal_moves_on_to_another_loop() -> None:
    lag = Lag()

    async def work(loop: Late) -> bool:
        lag()
        return lag.loop is loop

    assert (run(work), run(work)) == (True, True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lag(full=0.0), "Lag: full"),
        (lambda: Lag(smooth=0.0), "Lag: smooth"),
        (lambda: Lag(full="soon"), "Lag: full"),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused(make: Callable[[], Lag], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()
