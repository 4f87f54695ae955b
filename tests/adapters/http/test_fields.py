"""Structured fields are written and read as another implementation of the RFC does it."""

from __future__ import annotations

import re
from typing import Any

import http_sfv
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headgate.adapters.http.fields import (
    MOST,
    Foreign,
    Item,
    entries,
    integer,
    items,
    sequence,
    string,
)

PRINTABLE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))
# Pieces that are next to a field, put together at random, are sometimes one.
PIECES = st.lists(
    st.sampled_from(
        [
            *('"a"', '"b\\"c"', '"d\\e"', '"open', "a", "*x", "1", "-2", "1.5", "999999999999999"),
            *(
                "1000000000000000",
                "1.2345",
                ":cGs=:",
                ":c:",
                ":*:",
                "?1",
                "?2",
                "@1",
                "@x",
            ),
            *('%"f%c3%bc"', '%"%C3"', '%"%ff"', ";r=1", "; t=30", ";R=1", ";r", ";=", " ;q=2"),
            *(",", ", ", "\t,\t", " ", "\t", "=", "(", ")", "k", "ü", "\x7f", ""),
        ]
    ),
    max_size=6,
).map("".join)
# What the other implementation lets pass: leading zeros without end, and a point with no digits. It
# also insists on the padding of bytes, which a parser should do without.
KNOWN_SLIPS = re.compile(r"[0-9]{16}|[0-9]\.(?![0-9])")


@given(PRINTABLE)
@example('a"b\\c')
def test_a_string_is_read_as_it_was_written(text: str) -> None:
    read = http_sfv.Item()
    read.parse(string(text).encode("ascii"))

    assert (read.value, items(string(text))) == (text, (Item(text, {}),))


def test_quotes_and_backslashes_are_escaped() -> None:
    assert string('a"b\\c') == r'"a\"b\\c"'


@pytest.mark.parametrize("text", ["naïve", "a\n", "\t", "\x7f", "\x00"])
def test_a_string_is_printable_ascii(text: str) -> None:
    with pytest.raises(ValueError) as refusal:
        string(text)
    assert str(refusal.value) == f"a header takes printable ASCII only, not {text!a}"


@given(st.integers())
@example(2**60)
@example(-(2**60))
def test_an_integer_has_at_most_15_digits(value: int) -> None:
    read = http_sfv.Item()
    read.parse(integer(value).encode("ascii"))

    assert read.value == max(-MOST, min(value, MOST))


@given(st.binary())
def test_bytes_are_read_as_they_were_written(value: bytes) -> None:
    read = http_sfv.Item()
    read.parse(sequence(value).encode("ascii"))

    assert (read.value, items(sequence(value))) == (value, (Item(value, {}),))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("  ", ()),
        ('"a";r=1', (Item("a", {"r": 1}),)),
        ('"a";r=1;r=2', (Item("a", {"r": 2}),)),
        ('"a";  r=1,"b"\t, "c" ', (Item("a", {"r": 1}), Item("b", {}), Item("c", {}))),
        ('"a";x;pk=:cGs:', (Item("a", {"x": Foreign("?1"), "pk": b"pk"}),)),
        ("a;r=1.5", (Item(Foreign("a"), {"r": Foreign("1.5")}),)),
        ('%"f%c3%bc";d=@-1', (Item(Foreign("fü"), {"d": Foreign("@-1")}),)),
        ("-0", (Item(0, {}),)),
    ],
)
def test_a_list_has_items_with_parameters(text: str, found: tuple[Item, ...]) -> None:
    assert items(text) == found


@pytest.mark.parametrize("text", ["a", "1.5", "?1", "@1", '%"a"'])
def test_a_type_that_no_quota_has_is_told_from_those_that_they_have(text: str) -> None:
    assert type(items(text)[0].value) is Foreign


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"a" ;r=1', "expected a comma at 4 of '\"a\" ;r=1'"),
        ('"a";R=1', "expected a key at 4 of '\"a\";R=1'"),
        ('"a";r=1000000000000000', "expected a comma at 21 of '\"a\";r=1000000000000000'"),
        ('"a";r=', "expected a value at 6 of '\"a\";r='"),
        ('"a",', "expected a value at 4 of '\"a\",'"),
        (",", "expected a value at 0 of ','"),
        ("(1 2)", "expected a value at 0 of '(1 2)'"),
        ('"naïve"', "expected a value at 0 of '\"na\\xefve\"'"),
        ("1.", "expected a comma at 1 of '1.'"),
        ("0000000000000001", "expected a comma at 15 of '0000000000000001'"),
        ('"a" "b"', 'expected a comma at 4 of \'"a" "b"\''),
    ],
)
def test_what_breaks_a_rule_anywhere_is_no_list(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refusal:
        items(text)
    assert str(refusal.value) == problem


@pytest.mark.parametrize("text", [":c=Gs:", ":=cGs:", ":c:"])
def test_bytes_are_base64_from_end_to_end(text: str) -> None:
    with pytest.raises(ValueError):
        items(text)


@given(PIECES)
def test_lists_are_read_and_refused_as_the_other_implementation_does(text: str) -> None:
    assume(not KNOWN_SLIPS.search(text))
    theirs = http_sfv.List()

    assert outcome(items, text) == outcome(lambda text: listed(theirs, text), text)


@given(PIECES, PIECES)
def test_dictionaries_are_read_and_refused_as_the_other_implementation_does(
    first: str, second: str
) -> None:
    text = f"k={first}, limit{second}"
    assume(not KNOWN_SLIPS.search(text))
    theirs = http_sfv.Dictionary()

    assert outcome(entries, text) == outcome(lambda text: mapped(theirs, text), text)


def test_a_dictionary_has_items_by_key() -> None:
    assert entries("limit=100, remaining=50;x, fresh") == {
        "limit": Item(100, {}),
        "remaining": Item(50, {"x": Foreign("?1")}),
        "fresh": Item(Foreign("?1"), {}),
    }


@given(st.text())
def test_no_text_does_more_than_break_a_rule(text: str) -> None:
    for read in (items, entries):
        assert outcome(read, text) is not None


def outcome(read: Any, text: str) -> Any:
    """What is read, or that nothing is."""
    try:
        return read(text)
    except ValueError:
        return "refused"


def listed(field: Any, text: str) -> Any:
    """Their list as ours, and refused where ours is: an inner list, or nothing at all is fine."""
    if not text.strip(" "):
        return ()
    field.parse(text.encode("utf-8"))
    return tuple(item(member) for member in field)


def mapped(field: Any, text: str) -> Any:
    field.parse(text.encode("utf-8"))
    return {key: item(member) for key, member in field.items()}


def item(member: Any) -> Any:
    if isinstance(member, http_sfv.InnerList):
        raise ValueError("an inner list")
    parameters = {key: value(found) for key, found in member.params.items()}
    return Item(value(member.value), parameters)


def value(found: Any) -> Any:
    """A value that quotas have; of the others, which are only told apart from these, nothing."""
    return found if type(found) in {int, str, bytes} else WHATEVER


class Whatever(Foreign):
    """Equal to everything that no quota has."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign)

    __hash__ = Foreign.__hash__


WHATEVER = Whatever()
