"""TOML is read by the standard library, and each of its many ways to say a thing has its place."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from headgate.errors import RulesError
from headgate.rules.documents.document import read

# text, then the places of values and of keys
PLACED: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("a = 1\nb= 2 # c", {"a": "1:5", "b": "2:4"}, {"a": "1:1", "b": "2:1"}),
    (
        "a.b . 'c d' = 1\na.\"e\" = 2",
        {"a": "1:1", "a/b": "1:3", "a/b/c d": "1:15", "a/e": "2:9"},
        {"a": "1:1", "a/b": "1:3", "a/b/c d": "1:7", "a/e": "2:3"},
    ),
    (
        "[a]\nx = 1\n  [ b . c ] # why\ny = 2\n[b]\nz = 3",
        {"a": "1:1", "a/x": "2:5", "b": "3:3", "b/c": "3:3", "b/c/y": "4:5", "b/z": "6:5"},
        {"a": "1:2", "a/x": "2:1", "b": "3:5", "b/c": "3:9", "b/c/y": "4:1", "b/z": "6:1"},
    ),
    (
        "[[a]]\n[a.b]\nx=1\n[[a]]\n[[a.c]]\ny=2\n[[a.c]]\ny.z=3\n",
        {
            "a": "1:1",
            "a/0": "1:1",
            "a/0/b": "2:1",
            "a/0/b/x": "3:3",
            "a/1": "4:1",
            "a/1/c": "5:1",
            "a/1/c/0": "5:1",
            "a/1/c/0/y": "6:3",
            "a/1/c/1": "7:1",
            "a/1/c/1/y": "8:1",
            "a/1/c/1/y/z": "8:5",
        },
        {
            "a": "1:3",
            "a/0/b": "2:4",
            "a/0/b/x": "3:1",
            "a/1/c": "5:5",
            "a/1/c/0/y": "6:1",
            "a/1/c/1/y": "8:1",
            "a/1/c/1/y/z": "8:3",
        },
    ),
    (
        "a = [ # [\n  1, 'x]', # \"\n  [2], {b = 1, c.d = 2}, \n]\nz = {}",
        {
            "a": "1:5",
            "a/0": "2:3",
            "a/1": "2:6",
            "a/2": "3:3",
            "a/2/0": "3:4",
            "a/3": "3:8",
            "a/3/b": "3:13",
            "a/3/c": "3:16",
            "a/3/c/d": "3:22",
            "z": "5:5",
        },
        {"a": "1:1", "a/3/b": "3:9", "a/3/c": "3:16", "a/3/c/d": "3:18", "z": "5:1"},
    ),
    (
        'a = """\n# x = 1\n\\"" ""\\\\"""""\nb = \'\'\'\n[c]\'\'\'\'\'\nd = """"""\ne = \'\'',
        {"a": "1:5", "b": "4:5", "d": "6:5", "e": "7:5"},
        {"a": "1:1", "b": "4:1", "d": "6:1", "e": "7:1"},
    ),
    (
        '"" = 1\n"a\\u0062\\"" = 2\n\'\\u0062\' = 3\r\n-_9 = 4',
        {"": "1:6", 'ab"': "2:15", "\\u0062": "3:12", "-_9": "4:7"},
        {"": "1:1", 'ab"': "2:1", "\\u0062": "3:1", "-_9": "4:1"},
    ),
]


@pytest.mark.parametrize(("text", "values", "keys"), PLACED)
def test_each_way_to_say_a_thing_has_its_places(
    text: str, values: dict[str, str], keys: dict[str, str]
) -> None:
    document = read(text, "toml")

    assert document.data == tomllib.loads(text)
    assert spelled(document.values) == {
        "": "1:1",
        **{f"/{at}": mark for at, mark in values.items()},
    }
    assert spelled(document.keys) == {f"/{at}": mark for at, mark in keys.items()}


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("true", True),
        ("-0", 0),
        ("+1_000", 1000),
        ("0xff", 255),
        ("0o17", 15),
        ("0b11", 3),
        ("1_0.5e-1_0", 10.5e-10),
        ("'no'", "no"),
        ('"22:30"', "22:30"),
        ('"inf"', "inf"),
        ("'2024-01-31'", "2024-01-31"),
    ],
)
def test_a_scalar_means_what_toml_says(spelling: str, value: Any) -> None:
    found = read(f"a = {spelling}", "toml").data["a"]

    assert found == value
    assert type(found) is type(value)


DATE = "a date or time is not read here; put it in quotes"
ENDLESS = "is not a finite number; write one that is"
TWICE = "stands twice, first in line 1; keep one of them"
WHOLE = "this table or value is complete, above; write all of it in one place"
OPEN = "this text is never closed; end it with the quotes it begins with"
KEY = "no key stands here; it is of letters, digits, - and _, or in quotes"
VALUE = "no value stands here; put a text in double quotes"
ESCAPE = "this is no escape; write \\\\ for a backslash, or use single quotes"
DIGITS = "this escape lacks digits; write four, as in \\u00e9"
HALF = "an escape stands for no whole character; write the character itself"
BAD = [
    ("a = 1\na = 2", f'2:1: "a" {TWICE}'),
    ("a.b = 1\na.'b' = 2", f'2:3: "b" {TWICE}'),
    ("a = {b = 1, b = 2}", f'1:13: "b" {TWICE}'),
    ("[a]\n[b]\n[a]", f'3:2: "a" {TWICE}'),
    ("a = 1\n[a]", f'2:2: "a" {TWICE}'),
    ("a = 1\na.b = 2", f'2:1: "a" {TWICE}'),
    ("a = {}\n[a.b]", f'2:2: "a" {TWICE}'),
    ("a = []\n[[a]]", f'2:3: "a" {TWICE}'),
    ("[a]\n[[a]]", f'2:3: "a" {TWICE}'),
    ("[a.b]\n[a]\nb = 1", f'3:1: "b" {TWICE}'),
    (
        "[[a]]\nb = 1\n[[a]]\nb = 1\nb = 2",
        '5:1: "b" stands twice, first in line 4; keep one of them',
    ),
    ("a.b = 1\n[a]", f"2:3: {WHOLE}"),
    ("[[a]]\n[a]", f"2:3: {WHOLE}"),
    ("[a.b]\n[[a]]", f"2:4: {WHOLE}"),
    ("a = 2024-01-31", f"1:5: {DATE}"),
    ("a = [1, 2024-01-31 10:00:00]", f"1:9: {DATE}"),
    ("a = {b = 2024-01-31T10:00:00Z}", f"1:10: {DATE}"),
    ("a = 22:30:00", f"1:5: {DATE}"),
    ("a = 22:30", f"1:5: {DATE}"),
    ("a = inf", f"1:5: inf {ENDLESS}"),
    ("a = [-inf]", f"1:6: -inf {ENDLESS}"),
    ("a = +nan", f"1:5: +nan {ENDLESS}"),
    ("a = 1e999", f"1:5: 1e999 {ENDLESS}"),
    ("a = 010", '1:5: 010 has a leading zero; write 10, or "010" for a text'),
    (f"a = {'9' * 101}", "1:5: a number of 101 characters; at most 100 are read"),
    (f"a = 1\nb = [{'9' * 9999}]", "2:6: a number of 9,999 characters; at most 100 are read"),
    (f"a{'.a' * 33} = 1", "1:65: more than 32 levels deep; write it flatter"),
    (f"[a{'.a' * 99_999}]", "1:66: more than 32 levels deep; write it flatter"),
    (f"[{'a.' * 31}a]\nb = 1", "1:64: more than 32 levels deep; write it flatter"),
    (f"[{'a.' * 29}a]\nb.c = []", "2:7: more than 32 levels deep; write it flatter"),
    ("a", '1:2: "=" and a value are missing after the key'),
    ("a: 1", '1:2: "=" and a value are missing after the key'),
    ("a =", f"1:4: {VALUE}"),
    ("a = no", f"1:5: {VALUE}"),
    ("a = True", f"1:5: {VALUE}"),
    ("a = [1,,2]", f"1:8: {VALUE}"),
    ("a = [1 2]", '1:8: a "," or "]" is missing'),
    ("a = [1", '1:7: a "," or "]" is missing'),
    ("a = {b = 1", '1:11: a "," or "}" is missing'),
    (
        "a = 1 b = 2",
        "1:7: something follows the value; begin a new line, or put the text in quotes",
    ),
    ("= 1", f"1:1: {KEY}"),
    ("@a = 1", f"1:1: {KEY}"),
    ("a. = 1", f"1:4: {KEY}"),
    ("[a", '1:3: a "]" is missing after the name of the table'),
    ("[[a]", '1:4: a "]]" is missing after the name of the table'),
    ('a = "b', f"1:5: {OPEN}"),
    ('a = "b\nc = 1', f"1:5: {OPEN}"),
    ("a = 1\nb = 'c\n", f"2:5: {OPEN}"),
    ('a = """b\nc\n', f"1:5: {OPEN}"),
    ("a = [\n'''b\nc\n", f"2:1: {OPEN}"),
    ('"a = 1', f"1:1: {OPEN}"),
    ('a = "\\q"', f"1:6: {ESCAPE}"),
    ('"\\q" = 1', f"1:2: {ESCAPE}"),
    ('a = "\\u12"', f"1:6: {DIGITS}"),
    ('a = "\\ud83d"', f"1:6: {HALF}"),
    ('a = "\x07"', "1:6: this character cannot stand here; take it out, or write an escape"),
    ("# \x07", "1:3: this character cannot stand here; take it out, or write an escape"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_bad_text_is_explained(text: str, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        read(text, "toml", "rules.toml")

    assert str(caught.value) == f"rules.toml:{said}"


def spelled(marks: dict[tuple[str | int, ...], tuple[int, int]]) -> dict[str, str]:
    return {
        "".join(f"/{part}" for part in path): f"{line}:{column}"
        for path, (line, column) in marks.items()
    }
