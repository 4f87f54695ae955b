"""YAML is read in the one way that everybody means, by PyYAML's parser in C and by the other."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from headgate.errors import MissingExtra, RulesError
from headgate.rules.documents.document import read

yaml = pytest.importorskip("yaml")


@pytest.fixture(params=["C", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of PyYAML's parsers does the work."""
    if request.param == "C" and not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML has no parser in C here")
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    return str(request.param)


# as spelled, what it means
SCALARS: list[tuple[str, Any]] = [
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nUll", "nUll"),
    ("none", "none"),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("false", False),
    ("tRUE", "tRUE"),
    ("yes", "yes"),
    ("no", "no"),
    ("No", "No"),
    ("on", "on"),
    ("off", "off"),
    ("y", "y"),
    ("0", 0),
    ("-0", 0),
    ("42", 42),
    ("+42", 42),
    ("-42", -42),
    ("0x1F", 31),
    ("0o17", 15),
    ("-0x1F", "-0x1F"),
    ("0b11", "0b11"),
    ("1_000", "1_000"),
    ("1,000", "1,000"),
    ("22:30", "22:30"),
    ("1:02:03", "1:02:03"),
    ("0.5", 0.5),
    (".5", 0.5),
    ("5.", 5.0),
    ("-1.5e3", -1500.0),
    ("1e3", 1000.0),
    ("+.5", 0.5),
    (".", "."),
    ("-x", "-x"),
    ("1.2.3", "1.2.3"),
    ("10.0.0.0/8", "10.0.0.0/8"),
    ("::1", "::1"),
    ("2024-01-31", "2024-01-31"),
    ("100/min burst 20", "100/min burst 20"),
    ("=", "="),
    ("<<", "<<"),
    ("'no'", "no"),
    ("'010'", "010"),
    ('"1"', "1"),
    ('""', ""),
    ("'~'", "~"),
    ("'it''s'", "it's"),
    ('"\\u00e9\\U0001f642\\n"', "é\U0001f642\n"),
    ("|\n  a\n  b", "a\nb\n"),
    (">-\n  1\n  2", "1 2"),
    ("|-\n  010", "010"),
    ("a\n  b", "a b"),
    ("1\n  2", "1 2"),
    ("[]", []),
    ("{}", {}),
    ("[no, 'no', [1], {a: b}]", ["no", "no", [1], {"a": "b"}]),
    ("[a: 1]", [{"a": 1}]),
    ("{a, b: }", {"a": None, "b": None}),
    ('{"a":1}', {"a": 1}),
    ("{a: 1, }", {"a": 1}),
]


@pytest.mark.parametrize(("spelling", "value"), SCALARS)
def test_a_scalar_means_what_the_core_schema_says(spelling: str, value: Any) -> None:
    found = read(f"value: {spelling}\n", "yaml").data["value"]

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("- a\n- - b\n  - c\n-\n", ["a", ["b", "c"], None]),
        ("---\na: 1\n...\n", {"a": 1}),
        ("---\n", None),
        ("--- # nothing\n...\n", None),
        ("? a\n: b\n", {"a": "b"}),
        ("yes: 1\nno: 2\non: 3\n22:30: 4\n", {"yes": 1, "no": 2, "on": 3, "22:30": 4}),
        ("'1': a\n\"true\": b\n'<<': c\n'': d\n", {"1": "a", "true": "b", "<<": "c", "": "d"}),
        ("a:\n- 1\n- 2\n", {"a": [1, 2]}),
        ("a: # why\n  b\n# and so on\n", {"a": "b"}),
        ('a: "\tx"\nb: |\n  x\n  \ty\n', {"a": "\tx", "b": "x\n\ty\n"}),
    ],
)
def test_a_text_means_its_data(text: str, data: Any) -> None:
    assert read(text, "yaml").data == data


SIGIL = "and none is read here; write the value out, or put a text in quotes"
FIT = "this does not fit; indent it as its neighbours, or put the text in quotes"
COLON = '":" cannot stand here; put the text in quotes, or indent as the lines around do'
VALUE = "a key or value is missing here; a text that begins so stands in quotes"
ESCAPE = "this is no escape; write \\\\ for a backslash, or use single quotes"
BLOCK = 'after "|" or ">" the text begins in the next line; else put the text in quotes'
DIRECTIVE = "a directive begins here, and none is read; take the line out"
AFTER = "this follows the end; take it out, or put the text in quotes"
TAB = "a tab cannot stand here; use spaces"
BAD = [
    ("a: 1\nb: 2\na: 3\n", '3:1: "a" stands twice, first in line 1; keep one of them'),
    ("a:\n  b: 1\n  'b': 2\n", '3:3: "b" stands twice, first in line 2; keep one of them'),
    ("a: {b: 1, b: 1}", '1:11: "b" stands twice, first in line 1; keep one of them'),
    (
        f"{'k' * 50}: 1\n{'k' * 50}: 2",
        f'2:1: "{"k" * 40}..." stands twice, first in line 1; keep one of them',
    ),
    ("a: &x 1\nb: 2", f'1:4: "&x" is an anchor, {SIGIL}'),
    ("a: &x\n  b: 1\nc: *x", f'1:4: "&x" is an anchor, {SIGIL}'),
    ("&x a: 1", f'1:1: "&x" is an anchor, {SIGIL}'),
    ("a: *x", f'1:4: "*x" is an alias, {SIGIL}'),
    ("*x : 1", f'1:1: "*x" is an alias, {SIGIL}'),
    ("path: *.html", f'1:7: "*.html" is an alias, {SIGIL}'),
    ("path: *", f'1:7: "*" is an alias, {SIGIL}'),
    ("a: & b", f'1:4: "&" is an anchor, {SIGIL}'),
    ("a: !!str 1", f'1:4: "!!str" is a tag, {SIGIL}'),
    ("a: ! 1", f'1:4: "!" is a tag, {SIGIL}'),
    ("- !local\n  x: 1", f'1:3: "!local" is a tag, {SIGIL}'),
    ("a: !foo!bar 1", f'1:4: "!foo!bar" is a tag, {SIGIL}'),
    ("a: !<tag:x> 1", f'1:4: "!<tag:x>" is a tag, {SIGIL}'),
    (
        "a: !!python/object/apply:os.system ['true']",
        f'1:4: "!!python/object/apply:os.system" is a tag, {SIGIL}',
    ),
    ("!!python/name:os.system x: 1", f'1:1: "!!python/name:os.system" is a tag, {SIGIL}'),
    ("!!binary aGk=", f'1:1: "!!binary" is a tag, {SIGIL}'),
    ("a:\n  <<: {b: 1}", '2:3: "<<" is a merge key, and none is read here; write the entries out'),
    ("a: 1\n---\nb: 2\n", "2:1: a second document begins here; keep one in a file"),
    ("---\n---\n", "2:1: a second document begins here; keep one in a file"),
    ("a: 1\n...\nb\n", f"3:1: {AFTER}"),
    ("{a: 1}}", f"1:7: {AFTER}"),
    ("'a' 'b'", f"1:5: {AFTER}"),
    ("%YAML 1.1\n---\na: 1", f"1:1: {DIRECTIVE}"),
    ("# x\n\n%TAG ! tag:x,2024:\n---\na: 1", f"3:1: {DIRECTIVE}"),
    ("%", f"1:1: {DIRECTIVE}"),
    ("a: 1\n...\n%\n", f"3:1: {DIRECTIVE}"),
    ("1: a", '1:1: the key 1 is a number; write "1"'),
    ("a:\n  1.5: a", '2:3: the key 1.5 is a number; write "1.5"'),
    ("0x1F: a", '1:1: the key 0x1F is a number; write "0x1F"'),
    ("true: a", '1:1: the key true is no text; write "true"'),
    ("~: a", '1:1: the key ~ is no text; write "~"'),
    ("? \n: a", "1:2: a key is missing here"),
    ("{: a}", f"1:2: {VALUE}"),
    ("? [a]\n: b", "1:3: a list cannot be a key; a key is a text"),
    ("{{a: 1}: 2}", "1:2: a mapping cannot be a key; a key is a text"),
    ("a: 010", '1:4: 010 has a leading zero; write 10, or "010" for a text'),
    ("a: -007", '1:4: -007 has a leading zero; write -7, or "-007" for a text'),
    ("a: 1\rb: 2\r\n\rc: 010", '4:4: 010 has a leading zero; write 10, or "010" for a text'),
    ("a: 00", '1:4: 00 has a leading zero; write 0, or "00" for a text'),
    ("a: 01.5", '1:4: 01.5 has a leading zero; write 1.5, or "01.5" for a text'),
    ("010: a", '1:1: 010 has a leading zero; write 10, or "010" for a text'),
    ("a: .inf", "1:4: .inf is not a finite number; write one that is"),
    ("a: -.INF", "1:4: -.INF is not a finite number; write one that is"),
    ("a: .NaN", "1:4: .NaN is not a finite number; write one that is"),
    ("a: 1e999", "1:4: 1e999 is not a finite number; write one that is"),
    (f"a: {'9' * 101}", "1:4: a number of 101 characters; at most 100 are read"),
    (f"a: 0x{'f' * 9999}", "1:4: a number of 10,001 characters; at most 100 are read"),
    ("a:\n\tb: 1", f"2:1: {TAB}"),
    ("a:\n  b: 1\n\tc: 2", f"3:1: {TAB}"),
    ("a:\tb", f"1:3: {TAB}"),
    ("- [a,\n\tb]", f"2:1: {TAB}"),
    ("-\t- a", f"1:2: {TAB}"),
    ("a: |\n\tb", f"2:1: {TAB}"),
    ("a: b: c", f"1:5: {COLON}"),
    ("a: 1\n  b: 2", f"2:4: {COLON}"),
    ("a\nb: 1", f"2:2: {COLON}"),
    ("a:\n    b: 1\n  c: 2", f"3:3: {FIT}"),
    ("- a\nb: 1", f"2:1: {FIT}"),
    ("a: 'x' y", f"1:8: {FIT}"),
    (": x", f"1:1: {FIT}"),
    ("a: 1\nb\nc: 2", '2:1: a ":" is missing after this key'),
    (
        "a: - b",
        '1:4: "-" cannot stand here; begin the list in a new line, or put the text in quotes',
    ),
    ("a: ?", '1:4: "?" cannot begin a text; put it in quotes'),
    ("a: @b", '1:4: "@" cannot begin a text; put it in quotes'),
    ("a: `b`", '1:4: "`" cannot begin a text; put it in quotes'),
    ("a: %b", '1:4: "%" cannot begin a text; put it in quotes'),
    ("a: 'x\nb: 1\n", "1:4: this text is never closed; end it with a quote"),
    ('a: "x\n---\n"', "1:4: this text is never closed; end it with a quote"),
    ("a: [1, 2\n", '2:1: a "," or "]" is missing; the list begins in line 1'),
    ("a: [1, 2", '1:9: a "," or "]" is missing; the list begins in line 1'),
    ("a:\n  {b: 1]", '2:8: a "," or "}" is missing; the mapping begins in line 2'),
    (
        "- {a: k, b: {c: /users/{uid}}, d: 5}",
        '1:24: a "," or "}" is missing; the mapping begins in line 1; a text with { in it stands '
        'in quotes: "/users/{uid}"',
    ),
    (
        "a: [/b,\n  /users/{uid}/x{, 5]",
        '2:10: a "," or "]" is missing; the list begins in line 1; a text with { in it stands in '
        'quotes: "/users/{uid}/x"',
    ),
    ("a: [/b {c}]", '1:8: a "," or "]" is missing; the list begins in line 1'),
    ("a: ]", f"1:4: {VALUE}"),
    ("a: [1,,2]", f"1:7: {VALUE}"),
    ("a: [", f"1:5: {VALUE}"),
    ('a: "\\q"', f"1:5: {ESCAPE}"),
    ('a: "b \\x4"', f"1:7: {ESCAPE}"),
    ("a: |x\n  b", f"1:5: {BLOCK}"),
    ("a: > b", f"1:6: {BLOCK}"),
    ("a: |0\n  b", f"1:5: {BLOCK}"),
    (
        'a: "\\UFFFFFFFF"',
        "1:5: an escape stands for no whole character; write the character itself",
    ),
    (
        "a: b\x07",
        "1:5: a character that is not seen stands here; write \\u0007 in double quotes",
    ),
    (
        "a:\n  'b\u2028'",
        "2:5: a character that is not seen stands here; write \\u2028 in double quotes",
    ),
    (
        "a: \ufeffb",
        "1:4: a character that is not seen stands here; write \\ufeff in double quotes",
    ),
    ("é: ü\nb: \U0001f642 &\n - c: d", f"3:5: {COLON}"),
    ("é: [ü, \U0001f642, &x y]", f'1:11: "&x" is an anchor, {SIGIL}'),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_bad_text_is_explained(text: str, said: str) -> None:
    assert refusal(text) == f"rules.yaml:{said}"


@pytest.mark.parametrize("text", ['a: "\\ud800"', 'a: "\\ud83d\\ude42"'])
def test_half_of_a_character_is_refused(text: str, parser: str) -> None:
    # The parser in C finds the escape, and the other one lets it pass until the text is whole.
    column = 5 if parser == "C" else 4
    said = "an escape stands for no whole character; write the character itself"
    assert refusal(text) == f"rules.yaml:1:{column}: {said}"


@pytest.mark.timeout(10)
def test_a_bomb_of_aliases_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{inner}'] * 9)}]\n"
        for inner, name in zip("abcdefgh", "bcdefghi", strict=True)
    )

    assert refusal(bomb) == f'rules.yaml:1:4: "&a" is an anchor, {SIGIL}'


@pytest.mark.timeout(10)
def test_a_ring_of_aliases_is_refused() -> None:
    assert refusal("&a [*a]") == f'rules.yaml:1:1: "&a" is an anchor, {SIGIL}'


def test_a_colon_before_a_brace_needs_quotes_as_well(parser: str) -> None:
    if parser == "Python":
        # This one takes it for a mapping.
        assert read("[user:{header.x}]", "yaml").data == [{"user": {"header.x": None}}]
        return
    assert refusal("[user:{header.x}]") == (
        'rules.yaml:1:6: ":" cannot stand here; a text with { in it stands in quotes: '
        '"user:{header.x}"'
    )


def test_no_control_character_of_the_text_reaches_a_message() -> None:
    said = refusal('"\\e[31m": 1\n"\\e[31m": 2\n')

    assert said == ('rules.yaml:2:1: "\\x1b[31m" stands twice, first in line 1; keep one of them')


def test_without_pyyaml_reading_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "headgate.rules.documents.yaml", raising=False)
    monkeypatch.delattr("headgate.rules.documents.yaml", raising=False)

    with pytest.raises(MissingExtra) as caught:
        read("a: 1", "yaml")

    assert caught.value.extra == "yaml"
    assert read('{"a": 1}', "json").data == read("a = 1", "toml").data == {"a": 1}


def refusal(text: str) -> str:
    with pytest.raises(RulesError) as caught:
        read(text, "yaml", "rules.yaml")
    return str(caught.value)
