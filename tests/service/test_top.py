"""Who asks most is known in memory that does not grow, and how well it is known."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headgate.service.top import RULES, SIZE, SPAN, Heavy, Top, Tops

KEYS = st.lists(st.integers(0, 40).map(str), max_size=400)


@given(KEYS, st.integers(1, 10))
def test_nobody_is_counted_too_seldom_and_the_error_is_known(keys: list[str], size: int) -> None:
    top, truth = Top(size), Counter(keys)
    for key in keys:
        top.note(key, 0)

    found = {one.key: one for one in top.heavy()}
    assert len(found) == min(size, len(truth))
    assert top.total == len(keys)
    for key, one in found.items():
        assert one.asked - one.error <= truth[key] <= one.asked
    for key, times in truth.items():
        # Who makes up more than one part in `size` is there.
        assert key in found or times <= top.least <= len(keys) / size


@given(KEYS)
def test_with_room_for_all_it_is_exact(keys: list[str]) -> None:
    top = Top(50)
    for number, key in enumerate(keys):
        top.note(key, number % 2)

    refused = Counter(keys[1::2])
    expected = {Heavy(key, n, 0, refused[key]) for key, n in Counter(keys).items()}
    assert {*top.heavy()} == expected


def test_the_most_come_first_and_of_equals_the_first_by_name() -> None:
    tops = Tops()
    for key in "cabcbc":
        tops.note("api", key, 0, 0)

    heavy, total, _ = tops.most("api", 2, 0)

    assert ([one.key for one in heavy], total) == (["c", "b"], 6)


def test_rules_are_counted_apart() -> None:
    tops = Tops()
    tops.note("api", "a", 1, 0)
    tops.note("login", "b", 0, 0)

    assert tops.most("api", 9, 0)[0] == [Heavy("a", 1, 0, 1)]
    assert tops.most("export", 9, 0) == ([], 0, 0)


def test_what_was_long_ago_is_forgotten() -> None:
    tops = Tops()
    tops.note("api", "a", 0, 0)
    tops.note("api", "a", 0, SPAN)
    tops.note("api", "b", 0, SPAN + 1)

    assert tops.most("api", 9, SPAN + 1) == (
        [Heavy("a", 2, 0, 0), Heavy("b", 1, 0, 0)], 3, SPAN + 1,
    )  # fmt: skip
    assert tops.most("api", 9, 2 * SPAN) == (
        [Heavy("a", 1, 0, 0), Heavy("b", 1, 0, 0)], 2, SPAN,
    )  # fmt: skip
    assert tops.most("api", 9, 9 * SPAN) == ([], 0, 0)


def test_memory_does_not_grow_with_how_many_ask() -> None:
    tops = Tops()
    for number in range(3 * SIZE):
        tops.note("api", str(number), 0, 0)
    for number in range(2 * RULES):
        tops.note(f"rule{number}", "a", 0, 0)

    assert len(tops.most("api", 10 * SIZE, 0)[0]) == SIZE
    known = [number for number in range(2 * RULES) if tops.most(f"rule{number}", 1, 0)[1]]
    assert len(known) == RULES - 1


def test_a_long_key_is_known_by_its_digest() -> None:
    tops = Tops()
    tops.note("api", "a" * 1000, 0, 0)

    (one,) = tops.most("api", 1, 0)[0]
    assert one.key.startswith("#")
    assert len(one.key) == 33
