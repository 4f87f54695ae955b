"""Forwarding headers are read from the right, within bounds, and in time that grows as they do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.clients.forwarded import LONGEST, MOST, excess, unwind

# text, nodes from right to left; "" is garbage
ENTRIES = [
    ("1.2.3.4", ["1.2.3.4"]),
    ("6.6.6.6, 1.2.3.4", ["1.2.3.4", "6.6.6.6"]),
    ("6.6.6.6,1.2.3.4\t,  5.6.7.8 ", ["5.6.7.8", "1.2.3.4", "6.6.6.6"]),
    ("", [""]),
    (",", ["", ""]),
    ("1.2.3.4,", ["", "1.2.3.4"]),
    (", 1.2.3.4", ["1.2.3.4", ""]),
    ("unknown, _hidden, a b", ["a b", "_hidden", "unknown"]),
    ('"1.2.3.4, 5.6.7.8"', ['5.6.7.8"', '"1.2.3.4']),
    ("1.2.3.4\x0b", ["1.2.3.4\x0b"]),
]

ELEMENTS = [
    ("for=1.2.3.4", ["1.2.3.4"]),
    ("For=1.2.3.4", ["1.2.3.4"]),
    ("FOR=1.2.3.4;PROTO=http", ["1.2.3.4"]),
    ("for=6.6.6.6, for=1.2.3.4", ["1.2.3.4", "6.6.6.6"]),
    ("for=6.6.6.6,for=1.2.3.4", ["1.2.3.4", "6.6.6.6"]),
    ("by=5.6.7.8;for=1.2.3.4;host=example.com;proto=https", ["1.2.3.4"]),
    ("for=1.2.3.4 ; proto=https", ["1.2.3.4"]),
    (";;for=1.2.3.4;;", ["1.2.3.4"]),
    ("for=1.2.3.4:567", ["1.2.3.4:567"]),
    ("for=[2001:db8::1]:443", ["[2001:db8::1]:443"]),
    ('for="1.2.3.4"', ["1.2.3.4"]),
    ('for="1.2.3.4:567"', ["1.2.3.4:567"]),
    ('for="[2001:db8:cafe::17]:4711"', ["[2001:db8:cafe::17]:4711"]),
    ('for="[2001:db8::1]" ; proto=https', ["[2001:db8::1]"]),
    ('for="1.2.\\3.4"', ["1.2.3.4"]),
    (r'for="\\\"1"', ['\\"1']),
    ('for=1.2.3.4;host="a, for=6.6.6.6"', ["1.2.3.4"]),
    ('for=1.2.3.4;host="a, for=6.6.6.6;x=";proto=http', ["1.2.3.4"]),
    (r'for=1.2.3.4;host="a, for=6.6.6.6;x=\"b"', ["1.2.3.4"]),
    (r'for=1.2.3.4;host="a\\", for=5.6.7.8', ["5.6.7.8", "1.2.3.4"]),
    ('for=1.2.3.4;a="";b=","', ["1.2.3.4"]),
    ('for=6.6.6.6;x=",",for=1.2.3.4;y=","', ["1.2.3.4", "6.6.6.6"]),
    ("for=unknown", ["unknown"]),
    ("for=_hidden, for=_SEVKISEK", ["_SEVKISEK", "_hidden"]),
    ("proto=https", ["unknown"]),
    ("for=1.2.3.4, proto=https", ["unknown", "1.2.3.4"]),
    # What was written before has no say in how the last element is read.
    ('for=", for=1.2.3.4', ["1.2.3.4", ""]),
    (r'for="\", for=1.2.3.4', ["1.2.3.4", ""]),
    ('for="6.6.6.6, for="[2001:db8::1]"', ["[2001:db8::1]", ""]),
    ('"""", for=1.2.3.4', ["1.2.3.4", ""]),
    # Garbage.
    ("", [""]),
    ("for=1.2.3.4,", ["", "1.2.3.4"]),
    ("for=1.2.3.4, , for=5.6.7.8", ["5.6.7.8", "", "1.2.3.4"]),
    ("1.2.3.4", [""]),
    ("for", [""]),
    ("for=", [""]),
    ('for=""', [""]),
    ("=1.2.3.4", [""]),
    ("for =1.2.3.4", [""]),
    ("for= 1.2.3.4", [""]),
    ("for=1.2.3.4 5.6.7.8", [""]),
    ("for=1.2.3.4;for=5.6.7.8", [""]),
    ("for=1.2.3.4;For=1.2.3.4", [""]),
    ("for=1.2.3.4;proto=a;proto=b", [""]),
    ("for=1.2.3.4;junk", [""]),
    ("junk;for=1.2.3.4", [""]),
    ("f(r=1.2.3.4", [""]),
    ('for="1.2.3.4', [""]),
    ('for=1.2.3.4"', [""]),
    ('for=1.2.3.4, for=5.6.7.8"', [""]),
    ('for="1.2.3.4"x', [""]),
    ('for="1.2.3.4"proto=http', [""]),
    ('for="1.2.3.4" proto=http', [""]),
    ('for=1.2"3.4"', [""]),
    ("for=1.2.\\3.4", [""]),
    (r'for="1.2.3.4\"', [""]),
    ('"', [""]),
    (r"\"", [""]),
]

ALONE = [
    ("1.2.3.4", ["1.2.3.4"]),
    (" 1.2.3.4\t", ["1.2.3.4"]),
    ("1.2.3.4, 5.6.7.8", [""]),
    ("1.2.3.4,", [""]),
    ("", [""]),
]


@pytest.mark.parametrize(("text", "nodes"), ENTRIES)
def test_entries_are_between_commas(text: str, nodes: list[str]) -> None:
    assert list(unwind("x-forwarded-for", text)) == nodes


@pytest.mark.parametrize(("text", "nodes"), ELEMENTS)
def test_elements_say_whom_they_are_for(text: str, nodes: list[str]) -> None:
    assert list(unwind("forwarded", text)) == nodes


@pytest.mark.parametrize(("text", "nodes"), ALONE)
def test_any_other_header_has_one_value(text: str, nodes: list[str]) -> None:
    assert list(unwind("cf-connecting-ip", text)) == nodes


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", ""),
        ("x" * LONGEST, ""),
        ("x" * (LONGEST + 1), "too_long"),
        ("," * (LONGEST + 1), "too_long"),
        (", ".join(["1.2.3.4"] * MOST), ""),
        (", ".join(["1.2.3.4"] * (MOST + 1)), "too_many"),
        ('for="' + "," * MOST + '"', "too_many"),
    ],
)
def test_a_header_has_4096_bytes_and_32_entries_at_most(text: str, flaw: str) -> None:
    assert excess(text) == flaw


tokens = st.text("abcXYZ019!#$%&'*+.^_`|~-", min_size=1)
nodes = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))


@given(st.lists(st.tuples(nodes, tokens, nodes), min_size=1, max_size=5))
def test_whatever_is_quoted_well_is_read_back(elements: list[tuple[str, str, str]]) -> None:
    text = ", ".join(
        f"x-{name}={quoted(value)};for={quoted(node)}" for node, name, value in elements
    )
    assert list(unwind("forwarded", text)) == [node for node, _, _ in reversed(elements)]


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.text() | st.text('for=1.;,"\\ \t[]:_'))
def test_what_comes_before_has_no_say(before: str) -> None:
    for text in ("for=1.2.3.4", 'for="[2001:db8::1]:443";host="a,b"', r'x="\"";for=_y'):
        assert next(unwind("forwarded", f"{before},{text}")) == next(unwind("forwarded", text))


@pytest.mark.parametrize(
    "hostile",
    [
        '"',
        '\\"',
        '""\\',
        "\\",
        ";",
        " ",
        "=",
        ',"',
        '","',
        'a="";',
        'for="\\\\',
        '"\\\\"',
        "for=1.2.3.4,",
        '=";"',
    ],
)
@pytest.mark.parametrize("ending", ["", '"', '"x', ';for="', '="'])
def test_reading_takes_as_long_as_the_header_is(hostile: str, ending: str, scale: int) -> None:
    # Tracing each line takes a hundred times as long as reading it.
    size = 4096 if scale > 1 else 1024

    def read(size: int) -> int:
        text = hostile * (size // len(hostile)) + ending
        return steps(lambda: list(unwind("forwarded", text)))

    # Twice the text is twice the work, and never much for a character.
    assert read(2 * size) <= 2.2 * read(size) + 100
    assert read(size) <= 40 * size


def steps(act: Callable[[], object]) -> int:
    """How many lines are executed: the same number on every machine."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count
