"""No note counts twice in a process, however many there are, as long as it would count at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.budgets.marks import Marks

LIFE = 32_000_000
# A number, when it comes, and for how long it counts then.
COMING = st.tuples(st.integers(0, 30), st.integers(0, 200), st.integers(1, 32))


def test_a_note_counts_once() -> None:
    marks = Marks(10, LIFE)

    assert marks.mark(b"a", LIFE, 0) == ""
    assert marks.mark(b"a", LIFE, 0) == "replayed"
    assert marks.mark(b"b", LIFE, 0) == ""


def test_what_has_expired_is_forgotten() -> None:
    marks = Marks(1000, LIFE)
    for second in range(500):
        marks.mark(b"%d" % second, second * 1_000_000 + LIFE, second * 1_000_000)

    assert len(marks) <= 34


def test_a_memory_that_is_too_small_makes_lives_shorter() -> None:
    marks = Marks(2, LIFE)

    assert marks.mark(b"a", 10_000_000, 0) == ""
    assert marks.mark(b"b", 20_000_000, 0) == ""
    assert marks.mark(b"c", 30_000_000, 0) == ""
    # It was forgotten, and so is everything that expires as early.
    assert marks.mark(b"a", 10_000_000, 0) == "expired"
    assert marks.mark(b"d", 9_000_000, 0) == "expired"
    assert marks.mark(b"b", 20_000_000, 0) == "replayed"


@given(st.lists(COMING), st.integers(1, 8))
def test_no_copy_ever_counts(comings: list[tuple[int, int, int]], most: int) -> None:
    marks = Marks(most, LIFE)
    counted = set()
    lives: dict[int, int] = {}
    for number, second, life in sorted(comings, key=lambda one: one[1]):
        now = second * 1_000_000
        expires = lives.setdefault(number, now + life * 1_000_000)
        # Who has expired is not even asked about.
        if now < expires and not marks.mark(b"%d" % number, expires, now):
            assert number not in counted
            counted.add(number)

    assert len(marks) <= most
