"""What each fault makes of the replies, in a time that is told."""

from __future__ import annotations

from random import Random

import pytest

from tests.servers import faults
from tests.servers.faults import Fault, Piece


def bent(fault: Fault, *chunks: bytes) -> list[tuple[float, bytes | None]]:
    """The pieces of chunks that come at 10, 11, 12 ... seconds."""
    return [
        (piece.due, piece.data)
        for number, chunk in enumerate(chunks)
        for piece in fault.bend(chunk, 10.0 + number)
    ]


def test_without_a_fault_everything_passes_at_once() -> None:
    assert bent(faults.plain(), b"ab", b"c") == [(10.0, b"ab"), (11.0, b"c")]


def test_late_chunks_are_late_together() -> None:
    pieces = bent(faults.latency(5.0, 0.0, Random(0)), b"a", b"b", b"c")

    assert pieces == [(15.0, b"a"), (16.0, b"b"), (17.0, b"c")]


@pytest.mark.parametrize("seconds", [0.5, 0.1])
def test_jitter_is_around_the_latency_and_never_before_now(seconds: float) -> None:
    fault = faults.latency(seconds, 0.2, Random(0))

    lates = [fault.bend(b"a", 0.0)[0].due for _ in range(1000)]

    assert max(0.0, seconds - 0.2) <= min(lates) <= max(0.0, seconds - 0.19)
    assert seconds + 0.19 < max(lates) <= seconds + 0.2


def test_a_blackhole_lets_nothing_through_and_hears_nothing() -> None:
    fault = faults.blackhole()

    assert (bent(fault, b"a", b"b"), fault.deaf) == ([], True)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5])
def test_a_cut_comes_after_exactly_so_many_bytes(size: int) -> None:
    pieces = bent(faults.cut(size), b"abc", b"def")

    passed = [piece[1] for piece in pieces]
    upto = passed.index(None)
    assert b"".join(data or b"" for data in passed[:upto]) == b"abcdef"[:size]


def test_slices_are_so_long_and_a_pause_apart_even_between_chunks() -> None:
    pieces = bent(faults.slices(2, 0.75), b"abcde", b"fg")

    assert pieces == [(10.0, b"ab"), (10.75, b"cd"), (11.5, b"e"), (12.25, b"fg")]


def test_a_duplicate_comes_right_after() -> None:
    assert bent(faults.duplicate(), b"a", b"b") == [
        (10.0, b"a"),
        (10.0, b"a"),
        (11.0, b"b"),
        (11.0, b"b"),
    ]


def test_replies_are_swapped_in_pairs_however_they_are_cut() -> None:
    fault = faults.swap()

    pieces = bent(fault, b":1\r\n$1\r", b"\na\r\n:3\r\n:4\r\n:5\r\n:", b"6")

    assert pieces == [(11.0, b"$1\r\na\r\n:1\r\n"), (11.0, b":4\r\n:3\r\n")]
    assert fault.rest() == b":5\r\n:6"


def test_one_byte_of_each_chunk_is_corrupt_and_the_same_one_for_the_same_seed() -> None:
    chunks = [b"+PONG\r\n"] * 200

    pieces = bent(faults.corrupt(Random(1)), *chunks)

    changed = [sum(map(int.__ne__, data or b"", b"+PONG\r\n")) for _, data in pieces]
    assert changed == [1] * 200
    assert {len(data or b"") for _, data in pieces} == {7}
    assert bent(faults.corrupt(Random(1)), *chunks) == pieces


def test_a_piece_without_bytes_is_a_reset() -> None:
    assert faults.cut(0).bend(b"a", 1.0)[-1] == Piece(1.0, None)
