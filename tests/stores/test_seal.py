"""Fingerprints of shared keys: the same in every process, and nobody's to choose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headgate
from headgate.stores.flat.seal import Seal

SEED = bytes(range(16))
KEYS = ["", "a", "user:42", "x" * 7, "x" * 8, "x" * 9, "x" * 300, "ü", "日本", "\0", "\ud800", "😀"]
PACKAGE = Path(str(headgate.__file__)).parents[1]


def siphash(data: bytes, seed: bytes, rounds: int, final: int) -> int:
    """SipHash by its definition, on Python's numbers, with any count of rounds."""
    first, second = (int.from_bytes(seed[at : at + 8], "little") for at in (0, 8))
    v = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        for _ in range(rounds):
            turn(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(final):
        turn(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def turn(v: list[int]) -> None:
    for one, other, far, near in ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32)):
        v[one] = (v[one] + v[other]) % (1 << 64)
        v[other] = rotated(v[other], far) ^ v[one]
        v[one] = rotated(v[one], near)


def rotated(number: int, places: int) -> int:
    return (number << places | number >> (64 - places)) % (1 << 64)


def test_the_definition_gives_the_number_that_its_authors_published() -> None:
    # The example in their paper: SipHash-2-4 of the bytes 0 to 14 under the key 0 to 15.
    assert siphash(bytes(range(15)), SEED, 2, 4) == 0xA129CA6149BE45E5


@pytest.mark.skipif(not headgate.COMPILED, reason="interpreted, it is BLAKE2")
@pytest.mark.parametrize("key", KEYS)
def test_a_mark_is_the_siphash_of_the_key(key: str) -> None:
    marked = Seal(SEED).mark(key) % (1 << 64)

    assert marked == siphash(key.encode("utf-8", "surrogatepass"), SEED, 1, 3)


def test_marks_of_different_keys_and_of_different_seeds_differ() -> None:
    seals = [Seal(SEED), Seal(SEED[::-1])]

    assert len({seal.mark(key) for seal in seals for key in KEYS}) == 2 * len(KEYS)


def test_marks_fit_into_a_cell_and_are_never_0() -> None:
    marks = [Seal(SEED).mark(str(number)) for number in range(1000)]

    assert 0 not in marks
    assert -(1 << 63) <= min(marks) < 0 < max(marks) < 1 << 63


def test_every_process_marks_a_key_alike() -> None:
    source = (
        "import json; from headgate.stores.flat.seal import Seal; seal = Seal(bytes(range(16)));"
        f"print(json.dumps([seal.mark(key) for key in {KEYS!r}]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONHASHSEED": "7"}

    elsewhere = subprocess.check_output([sys.executable, "-c", source], env=environment)

    assert json.loads(elsewhere) == [Seal(SEED).mark(key) for key in KEYS]
