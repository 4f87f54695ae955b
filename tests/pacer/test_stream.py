"""Chunks of any size leave as an even flow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ManualClock, Pacer, PacerFull

TABLE: list[tuple[Sequence[bytes], list[tuple[int, int]]]] = [
    # chunks, then the length of each piece and the millisecond it leaves at
    ([b"x" * 12_000], [(5_000, 0), (5_000, 50), (2_000, 100)]),
    ([b"x" * 100, b"x" * 200, b"x"], [(100, 0), (200, 1), (1, 3)]),
    ([b"x" * 5_000, b"x" * 5_001], [(5_000, 0), (5_000, 50), (1, 100)]),
    ([b"", b"x" * 1_000, b"", b"x"], [(0, 0), (1_000, 0), (0, 0), (1, 10)]),
    ([], []),
]


async def later(chunks: Sequence[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


@pytest.mark.parametrize(("chunks", "pieces"), TABLE)
def test_large_chunks_are_cut_and_all_are_paced_by_their_length(
    clock: ManualClock, chunks: Sequence[bytes], pieces: list[tuple[int, int]]
) -> None:
    pacer = Pacer("100KB/s", clock=clock)

    found = [(len(piece), clock.now() // 1_000) for piece in pacer.stream(chunks)]

    assert found == pieces


@pytest.mark.parametrize(("chunks", "pieces"), TABLE)
@pytest.mark.parametrize("source", [later, list])
def test_a_loop_that_awaits_sees_the_same(
    clock: ManualClock, chunks: Sequence[bytes], pieces: list[tuple[int, int]], source: Any
) -> None:
    pacer = Pacer("100KB/s", clock=clock)

    async def main() -> list[tuple[int, int]]:
        stream = pacer.stream(source(chunks))
        return [(len(piece), clock.now() // 1_000) async for piece in stream]

    assert asyncio.run(main()) == pieces


@given(st.lists(st.binary(max_size=300)), st.sampled_from(["1KB/s", "7B per 3ms", "1 per 2s"]))
def test_what_goes_in_comes_out(chunks: list[bytes], rate: str) -> None:
    clock = ManualClock()
    pacer = Pacer(rate, clock=clock)
    last = 0

    for piece in pacer.stream(chunks):
        last = len(piece) or last

    whole = b"".join(Pacer(rate, clock=ManualClock()).stream(chunks))
    assert whole == b"".join(chunks)
    # The last piece leaves when all before it are paid.
    assert clock.now() == -(-(len(whole) - last) * pacer.rate.period // pacer.rate.count)


@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda data: data.decode(), list])
def test_whatever_has_a_length_and_can_be_cut_is_paced(clock: ManualClock, kind: Any) -> None:
    pieces = list(Pacer("100KB/s", clock=clock).stream([kind(b"x" * 7_000)]))

    assert [len(piece) for piece in pieces] == [5_000, 2_000]
    assert type(pieces[0]) is type(kind(b""))


def test_a_change_of_pace_is_felt_within_a_chunk(clock: ManualClock) -> None:
    pacer = Pacer("100KB/s", clock=clock)
    found = []
    for piece in pacer.stream([b"x" * 20_000]):
        found.append((len(piece), clock.now() // 1_000))
        pacer.change("200KB/s")

    # 5 KB leave at once and are paid at the new pace.
    assert found == [(5_000, 0), (10_000, 25), (5_000, 75)]


def test_two_streams_take_turns() -> None:
    async def main() -> str:
        clock = ManualClock()
        pacer = Pacer("100KB/s", clock=clock)
        order: list[str] = []
        note = order.append

        async def send(name: str) -> None:
            async for _ in pacer.stream([b"x" * 20_000]):
                note(name)

        await asyncio.gather(send("a"), send("b"))
        return "".join(order)

    # The first piece need not wait, so the one after it is in line before the other stream begins.
    assert asyncio.run(main()) == "aabababb"


def test_a_piece_that_cannot_leave_in_time_ends_the_stream(clock: ManualClock) -> None:
    pacer = Pacer("100KB/s", clock=clock)
    stream = iter(pacer.stream([b"x" * 20_000], timeout=0.049))
    next(stream)

    with pytest.raises(PacerFull):
        next(stream)


def test_async_chunks_need_an_async_loop(clock: ManualClock) -> None:
    pacer = Pacer("100KB/s", clock=clock)

    with pytest.raises(TypeError) as refusal:
        list(pacer.stream(later([b"x"])))

    assert str(refusal.value) == "Pacer.stream: these chunks are async; use `async for`"
