"""Notes say what was written in them, or nothing: whatever is changed, nobody believes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.budgets.mint import Mint
from headgate.budgets.note import LONGEST_LIFE, LONGEST_NAME, Note, digest, spell, spelled
from tests.budget.kit import KEY, OTHER

NUMBERS = st.integers(0, (1 << 64) - 1)
NOTES = st.builds(
    Note,
    st.integers(0, 7),
    st.binary(min_size=16, max_size=16),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.integers(0, LONGEST_LIFE),
    st.binary(min_size=12, max_size=12),
)
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=64)
NOTE = Note(0, digest("ann"), 15, 20, 1_000_000, 30_000_000, bytes(12))


@given(NOTES, NAMES)
def test_what_is_signed_is_read_as_it_was(note: Note, name: str) -> None:
    mint = Mint(KEY, name)

    assert mint.read(mint.sign(note)) == note


def test_a_note_whose_every_bit_is_turned_in_turn_is_never_ours() -> None:
    mint = Mint(KEY, "budget")
    text = mint.sign(NOTE)
    turned = [
        text[:place] + chr(ord(text[place]) ^ (1 << bit)) + text[place + 1 :]
        for place in range(len(text))
        for bit in range(7)
    ]

    assert [one for one in turned if mint.read(one) is not None] == []


def test_no_byte_of_it_can_be_changed() -> None:
    mint = Mint(KEY, "budget")
    packed = spelled(mint.sign(NOTE))
    changed = [
        packed[:place] + bytes([packed[place] ^ (1 << bit)]) + packed[place + 1 :]
        for place in range(len(packed))
        for bit in range(8)
    ]

    assert [one for one in changed if mint.read(spell(one)) is not None] == []


def test_only_one_text_stands_for_a_note() -> None:
    # With two bytes over, the last letter has two bits that say nothing.
    mint = Mint(KEY, "budge")
    text = mint.sign(NOTE)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = [one for one in alphabet if mint.read(text[:-1] + one) is not None]

    assert last == [text[-1]]
    assert mint.read(f"{text}=") is None


@given(st.text() | st.text("ABCabc123-_", min_size=100, max_size=200) | NAMES)
def test_garbage_is_not_ours(text: str) -> None:
    assert Mint(KEY, "budget").read(text) is None


@given(st.binary(max_size=200))
def test_other_bytes_are_not_ours(packed: bytes) -> None:
    assert Mint(KEY, "budget").read(spell(packed)) is None


def test_what_is_too_long_is_not_looked_at() -> None:
    mint = Mint(KEY, "n" * LONGEST_NAME)
    text = mint.sign(NOTE)

    assert len(text) == 190
    assert mint.read(text) == NOTE
    assert mint.read(text + "A" * 4) is None
    assert mint.read("A" * 1_000_000) is None


def test_a_note_is_for_one_budget() -> None:
    text = Mint(KEY, "shop").sign(NOTE)

    assert Mint(KEY, "shop").read(text) == NOTE
    assert Mint(KEY, "mail").read(text) is None
    assert Mint(KEY, "sho").read(text) is None


def test_keys_are_rotated_without_anybody_noticing() -> None:
    old, both, turned, new = (
        Mint(keys, "budget") for keys in (KEY, [KEY, OTHER], [OTHER, KEY], [OTHER])
    )

    assert both.read(old.sign(NOTE)) == turned.read(old.sign(NOTE)) == NOTE
    assert old.read(both.sign(NOTE)) == turned.read(both.sign(NOTE)) == NOTE
    assert new.read(turned.sign(NOTE)) == both.read(turned.sign(NOTE)) == NOTE
    assert new.read(old.sign(NOTE)) is None
    assert old.read(new.sign(NOTE)) is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "secret",
            "Budget: keys[0] has 6 bytes, and a key has at least 32; make one with openssl rand "
            "-hex 32",
        ),
        (
            [KEY, b"x"],
            "Budget: keys[1] has 1 bytes, and a key has at least 32; make one with openssl rand "
            "-hex 32",
        ),
        ([], "Budget: keys are one or more; make one with openssl rand -hex 32"),
        ([KEY] * 17, "Budget: keys are at most 16, not 17"),
    ],
)
def test_a_key_that_could_be_guessed_is_refused(keys: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Mint(keys, "budget")  # type: ignore[arg-type]

    assert str(caught.value) == message


def test_what_is_no_key_is_not_told() -> None:
    with pytest.raises(TypeError) as caught:
        Mint([12345], "budget")  # type: ignore[list-item]

    assert str(caught.value) == "Budget: keys[0] is a text or bytes, not a int"
    assert KEY not in repr(Mint(KEY, "budget"))


@pytest.mark.parametrize("name", ["", "n" * 65, "böse", "a\nb"])
def test_a_name_is_short_and_plain(name: str) -> None:
    with pytest.raises(ValueError, match="name is 1 to 64 plain characters"):
        Mint(KEY, name)


def test_an_account_cannot_be_read_in_a_note() -> None:
    text = Mint(KEY, "budget").sign(NOTE)

    assert b"ann" not in spelled(text)
    assert digest("ann") != digest("bob")
    assert len(digest("\udc80" * 10_000)) == 16
