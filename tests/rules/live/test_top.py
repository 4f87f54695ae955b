"""Who asks most is known in memory that does not grow, and how well it is known."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.live.ranking import Heavy, heaviest
from headgate.rules.live.top import SIZE, SPAN, Top, Tops

KEYS = st.lists(st.integers(0, 40).map(str), max_size=400)


@given(KEYS, st.integers(1, 10))
def test_nobody_is_counted_too_seldom_and_the_error_is_known(keys: list[str], size: int) -> None:
    top, truth = Top(size), Counter(keys)
    for key in keys:
        top.note(key)

    found = heaviest(99, top)
    assert len(found) <= 2 * size
    assert top.total == len(keys)
    for key, one in found.items():
        assert one.times - one.error <= truth[key] <= one.times
    for key, times in truth.items():
        # Who makes up more than one part in `size` is there.
        assert key in found or times <= top.least + 1
    assert top.least <= len(keys) / size


@given(KEYS, KEYS, st.integers(1, 10))
def test_what_was_let_in_and_what_was_refused_add_up_with_their_errors(
    passed: list[str], refused: list[str], size: int
) -> None:
    tops, truth = (Top(size), Top(size)), Counter(passed + refused)
    for top, keys in zip(tops, (passed, refused), strict=True):
        for key in keys:
            top.note(key)

    found = heaviest(99, *tops)
    for key, one in found.items():
        assert one.times - one.error <= truth[key] <= one.times
        assert one.error <= (len(passed) + len(refused)) / size + 2
    for key, times in truth.items():
        assert key in found or times <= tops[0].least + tops[1].least + 2


@given(KEYS)
def test_with_room_for_all_it_is_exact(keys: list[str]) -> None:
    tops = Tops()
    for number, key in enumerate(keys):
        (tops.refused if number % 2 else tops.passed).note(key)

    refused = Counter(keys[1::2])
    expected = {Heavy(key, n, 0, refused[key]) for key, n in Counter(keys).items()}
    assert {*tops.most(50, 0)[0]} == expected


def test_the_most_come_first_and_of_equals_the_first_by_name() -> None:
    tops = Tops()
    for key in "cabcbc":
        tops.passed.note(key)

    heavy, total, _ = tops.most(2, 0)

    assert ([one.key for one in heavy], total) == (["c", "b"], 6)


def test_who_is_refused_most_is_another_question() -> None:
    tops = Tops()
    for key, refused in (("busy", 0), ("busy", 0), ("busy", 0), ("bad", 1), ("bad", 1)):
        (tops.refused if refused else tops.passed).note(key)

    assert tops.reading(9, 0) == {
        "span": 0.0,
        "total": 5,
        "asked": [
            {"key": "busy", "asked": 3, "error": 0, "refused": 0},
            {"key": "bad", "asked": 2, "error": 0, "refused": 2},
        ],
        "refused": [{"key": "bad", "asked": 2, "error": 0, "refused": 2}],
    }


def test_what_was_long_ago_is_forgotten() -> None:
    tops = Tops()
    tops.turn(0)
    tops.passed.note("a")
    tops.turn(SPAN)
    tops.passed.note("a")
    tops.passed.note("b")

    assert tops.most(9, SPAN + 1) == (
        [Heavy("a", 2, 0, 0), Heavy("b", 1, 0, 0)], 3, SPAN + 1,
    )  # fmt: skip
    assert tops.most(9, 2 * SPAN) == (
        [Heavy("a", 1, 0, 0), Heavy("b", 1, 0, 0)], 2, SPAN,
    )  # fmt: skip
    assert tops.most(9, 9 * SPAN) == ([], 0, 0)


def test_memory_does_not_grow_with_how_many_ask() -> None:
    top = Top()
    for number in range(20 * SIZE):
        top.note(str(number))

    assert len(heaviest(9 * SIZE, top)) <= 2 * SIZE
    assert top.least <= 20


def test_a_long_key_is_known_by_its_digest() -> None:
    top = Top()
    top.note("a" * 1000)
    top.note("a" * 1000)

    ((key, one),) = heaviest(9, top).items()
    assert (key[0], len(key), one.times) == ("#", 33, 2)
