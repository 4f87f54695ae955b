"""What a header says of a length is read alike in both forms, or not at all."""

from __future__ import annotations

import pytest

from headgate.wire.names import amount

LENGTHS = {
    b"0": 0,
    b"7": 7,
    b"1048576": 1_048_576,
    b"999999999999999999": 999_999_999_999_999_999,
    b"12 ": 12,
    b"12 \t" + 30 * b" ": 12,
    b"%030d" % 12: 12,
}


@pytest.mark.parametrize("said", LENGTHS, ids=repr)
def test_a_length_is_read(said: bytes) -> None:
    assert amount(said) == LENGTHS[said]


@pytest.mark.parametrize(
    "said", [b"", b" ", b"-1", b"+1", b"1_0", b"0x1", b"1 2", b"12a", b"1" + 18 * b"0"], ids=repr
)
def test_what_is_no_length_is_not_taken_for_one(said: bytes) -> None:
    with pytest.raises(ValueError):
        amount(said)
