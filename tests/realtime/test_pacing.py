"""On the machine's own clock: departures are never closer than the gap, for threads and tasks."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise

import pytest

from headgate import Pacer, SystemClock

pytestmark = pytest.mark.realtime

GAP = 500


class Witness:
    """Notes the time before and after each turn, apart from what the pacer says of it."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.stamps: list[tuple[int, int, int]] = []

    def see(self, before: int, departed: int) -> None:
        self.stamps.append((before, departed, self.clock.now()))

    def judge(self, count: int) -> None:
        assert len(self.stamps) == count
        # What the pacer says lies between what was seen, so it is true of what was seen as well.
        assert all(before <= departed <= after for before, departed, after in self.stamps)
        moments = sorted(departed for _, departed, _ in self.stamps)
        assert min(later - moment for moment, later in pairwise(moments)) >= GAP


def test_two_thousand_a_second_in_a_thread() -> None:
    witness = Witness()
    pacer = Pacer("2000/s", clock=witness.clock)
    for _ in range(1_000):
        before = witness.clock.now()
        witness.see(before, pacer.acquire().departed)

    witness.judge(1_000)
    # Seen from outside: whoever left after another came at least so much later than that one did.
    for first, second in pairwise(witness.stamps):
        assert second[2] - first[0] >= GAP


def test_two_thousand_a_second_among_threads() -> None:
    witness = Witness()
    pacer = Pacer("2000/s", clock=witness.clock)

    def work() -> None:
        for _ in range(100):
            before = witness.clock.now()
            witness.see(before, pacer.acquire().departed)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    witness.judge(800)


def test_two_thousand_a_second_among_tasks() -> None:
    witness = Witness()
    pacer = Pacer("2000/s", clock=witness.clock)

    async def work() -> None:
        before = witness.clock.now()
        turn = await pacer.turn()
        witness.see(before, turn.departed)

    async def main() -> None:
        await asyncio.gather(*(work() for _ in range(1_000)))

    asyncio.run(main())

    witness.judge(1_000)


def test_two_thousand_a_second_handed_in() -> None:
    witness = Witness()
    pacer = Pacer("2000/s", clock=witness.clock)
    start = witness.clock.now()
    futures = [pacer.submit(witness.clock.now) for _ in range(500)]

    moments = [future.result(60) for future in futures]

    # A call is made at its departure or later, so two of them may be closer by as much as the
    # machine held up the first; counted from the beginning, none is early.
    assert moments == sorted(moments)
    assert all(moment >= start + place * GAP for place, moment in enumerate(moments))


def test_a_stream_takes_as_long_as_its_length_asks() -> None:
    witness = Witness()
    pacer = Pacer("10MB/s", clock=witness.clock)

    start = witness.clock.now()
    lengths = [len(piece) for piece in pacer.stream([b"x" * 2_000_000])]

    # All but the last piece are paid when it leaves.
    assert lengths == [500_000] * 4
    assert witness.clock.now() - start >= 150_000
