"""A glob fits what it says, all of it, and never takes a step back."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching.glob import Glob


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("a", ["a"], ["", "aa", "A", "b"]),
        ("", [""], ["a"]),
        ("*", ["", "a", "a\nb", "*"], []),
        ("?", ["a", "?", "\n"], ["", "aa"]),
        ("*.example.com", ["a.example.com", ".example.com"], ["example.com", "a.example.com.x"]),
        ("a*", ["a", "ab"], ["ba", ""]),
        ("*a", ["a", "ba"], ["ab", ""]),
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("ab*ba", ["abba", "ab-ba"], ["aba"]),
        ("*a*", ["a", "bab"], ["b", ""]),
        ("a*b*c", ["abc", "a-b-b-c"], ["acb", "ab"]),
        ("*b*b*", ["bb", "abab"], ["b", "aba"]),
        ("?*", ["a", "ab"], [""]),
        ("a?c*", ["abc", "abcd"], ["ac", "abd"]),
        ("*a?c", ["abc", "xabc"], ["abcx", "ac"]),
        ("*a?c*", ["abc", "xaaacx"], ["acac", "ab"]),
        ("*??*", ["ab", "abc"], ["a"]),
        ("*a?b*?", ["acbx", "aacbxx"], ["acb"]),
        ("a?*?a", ["abba", "ab-ba"], ["aba"]),
        ("*aa*aa*", ["aaaa", "aa-aa"], ["aaa"]),
        ("**", ["", "a"], []),
        ("[a]", ["[a]"], ["a"]),
        (".", ["."], ["a"]),
    ],
)
def test_a_glob_fits_the_whole_text(pattern: str, fitting: list[str], other: list[str]) -> None:
    glob = Glob(pattern)

    assert [text for text in fitting + other if glob.matches(text)] == fitting


@given(st.text("ab*?", max_size=8), st.text("ab?", max_size=12))
def test_a_glob_agrees_with_trying_every_way(pattern: str, text: str) -> None:
    assert Glob(pattern).matches(text) is tried(pattern, text)


@given(st.text(max_size=20), st.text())
def test_any_text_is_judged(pattern: str, text: str) -> None:
    assert isinstance(Glob(pattern).matches(text), bool)


@pytest.mark.parametrize("padding", [2_048, 100_000])
def test_who_pads_a_text_does_not_get_out_of_a_glob(padding: int) -> None:
    assert Glob("*badbot*").matches("x" * padding + "badbot")
    assert Glob("*bad?ot*").matches("x" * padding + "badbot" + "x" * padding)


class Counted(str):
    """A text that notes what is looked at: the stretches that are searched, and the characters."""

    __slots__ = ("seen",)
    seen: list[int]

    def find(self, piece: str, *bounds: Any) -> int:
        """Search, and note how much was passed over."""
        place = super().find(piece, *bounds)
        self.seen.append((place + len(piece) if place >= 0 else bounds[1]) - bounds[0])
        return place

    def __getitem__(self, place: Any) -> str:
        if isinstance(place, int):
            self.seen.append(1)
        return super().__getitem__(place)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a*a*a*a*b", "a" * 100_000),
        ("*a*a*a*a*b*", "a" * 100_000),
        ("a*" * 400 + "b*", "a" * 100_000),
        ("*a?a?a?a?b*", "a" * 100_000),
        ("*?a?*" * 20 + "b*", "a" * 100_000),
        ("*aaaab*aaaab*", "aaaa" * 25_000),
    ],
)
def test_no_character_is_looked_at_twice(pattern: str, text: str) -> None:
    counted = Counted(text)
    counted.seen = []

    assert not Glob(pattern).matches(counted)
    assert sum(counted.seen) <= len(text)


def test_a_glob_is_a_value() -> None:
    glob = Glob("*.example.com")

    assert glob == Glob("*.example.com")
    assert glob != Glob("*.example.org")
    assert len({glob, Glob("*.example.com")}) == 1
    assert (repr(glob), str(glob)) == ("Glob(pattern='*.example.com')", "*.example.com")
    assert pickle.loads(pickle.dumps(glob)) == copy.deepcopy(glob) == glob


def test_a_glob_has_its_length() -> None:
    with pytest.raises(ValueError) as refused:
        Glob("*" * 1_001)

    assert str(refused.value) == "a pattern has at most 1,000 characters, not 1,001"


def tried(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(tried(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in {"?", text[0]} and tried(pattern[1:], text[1:])
