"""A document is the same data in three formats, in bounds, and knows where each part stands."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import Problem, RulesError
from headgate.rules.documents import page, toml, tree
from headgate.rules.documents.document import Document, format_of, read

FORMATS = ["yaml", "json", "toml"]
YAML = """\
# limits of the shop
version: 1
rules:
  - name: browse
    limit: 100/min burst 20
    shadow: true
    share: 0.5
    match: {path: /shop, method: [GET, HEAD]}
  - name: "pay"
    limit: '5/s'
    labels: []
    match:
      path: "/pay/\\u00e9"
"""
JSON = """\
{
  "version": 1,
  "rules": [
    {"name": "browse", "limit": "100/min burst 20", "shadow": true, "share": 0.5,
     "match": {"path": "/shop", "method": ["GET", "HEAD"]}},
    {"name": "pay", "limit": "5/s", "labels": [],
     "match": {"path": "/pay/\\u00e9"}}
  ]
}
"""
TOML = """\
# limits of the shop
version = 1

[[rules]]
name = "browse"
limit = "100/min burst 20"
shadow = true
share = 0.5
match = {path = "/shop", method = ["GET", "HEAD"]}

[[rules]]
name = 'pay'
limit = "5/s"
labels = []
[rules.match]
path = "/pay/\\u00e9"
"""
TEXTS = {"yaml": YAML, "json": JSON, "toml": TOML}
DATA = {
    "version": 1,
    "rules": [
        {
            "name": "browse",
            "limit": "100/min burst 20",
            "shadow": True,
            "share": 0.5,
            "match": {"path": "/shop", "method": ["GET", "HEAD"]},
        },
        {"name": "pay", "limit": "5/s", "labels": [], "match": {"path": "/pay/é"}},
    ],
}


@pytest.mark.parametrize("form", FORMATS)
def test_the_three_formats_say_the_same(form: str) -> None:
    assert read(TEXTS[form], form).data == DATA


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_bytes_a_mark_of_their_order_and_endings_of_lines_change_nothing(
    form: str, ending: str
) -> None:
    plain = read(TEXTS[form], form)
    marked = "\ufeff" + TEXTS[form].replace("\n", ending)

    assert read(marked, form) == read(marked.encode(), form) == plain


# path, and for each format where the value begins and where its key stands
PLACES: list[tuple[tuple[str | int, ...], dict[str, Any]]] = [
    ((), {"yaml": "2:1 2:1", "json": "1:1 1:1", "toml": "1:1 1:1"}),
    (("version",), {"yaml": "2:10 2:1", "json": "2:14 2:3", "toml": "2:11 2:1"}),
    (("rules",), {"yaml": "4:3 3:1", "json": "3:12 3:3", "toml": "4:1 4:3"}),
    (("rules", 0), {"yaml": "4:5 4:5", "json": "4:5 4:5", "toml": "4:1 4:1"}),
    (("rules", 0, "limit"), {"yaml": "5:12 5:5", "json": "4:33 4:24", "toml": "6:9 6:1"}),
    (
        ("rules", 0, "match", "method"),
        {"yaml": "8:34 8:26", "json": "5:43 5:33", "toml": "9:35 9:26"},
    ),
    (
        ("rules", 0, "match", "method", 1),
        {"yaml": "8:40 8:40", "json": "5:51 5:51", "toml": "9:43 9:43"},
    ),
    (("rules", 1), {"yaml": "9:5 9:5", "json": "6:5 6:5", "toml": "11:1 11:1"}),
    (("rules", 1, "match"), {"yaml": "13:7 12:5", "json": "7:15 7:6", "toml": "15:1 15:8"}),
    (
        ("rules", 1, "match", "path"),
        {"yaml": "13:13 13:7", "json": "7:24 7:16", "toml": "16:8 16:1"},
    ),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("path", "places"), PLACES)
def test_each_part_has_a_place_for_its_value_and_one_for_its_key(
    form: str, path: tuple[str | int, ...], places: dict[str, str]
) -> None:
    document = read(TEXTS[form], form)

    assert spelled(document.place(path), document.key(path)) == places[form]


@pytest.mark.parametrize(
    ("path", "places"),
    [
        (("rules", 1, "burst"), "9:5 9:5"),
        (("rules", 1, "match", "host", "name"), "13:7 12:5"),
        (("rules", 1, "name", 0), "9:11 9:5"),
        (("rules", 7, "name"), "4:3 3:1"),
        (("stores",), "2:1 2:1"),
    ],
)
def test_what_is_missing_is_placed_where_it_would_be_held(
    path: tuple[str | int, ...], places: str
) -> None:
    document = read(YAML, "yaml")

    assert spelled(document.place(path), document.key(path)) == places


def test_a_document_without_places_has_only_a_beginning() -> None:
    bare = Document({"a": 1}, {}, {}, "")

    assert (bare.place(("a",)), bare.key(("a",))) == ((1, 1), (1, 1))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", ["", "\n", "  \n\n", "\ufeff", b"", b"\xef\xbb\xbf\r\n"])
def test_an_empty_text_says_nothing(form: str, text: str | bytes) -> None:
    assert read(text, form, "rules") == Document(None, {(): (1, 1)}, {}, "rules")


@pytest.mark.parametrize("form", ["yaml", "toml"])
def test_a_text_of_comments_says_nothing(form: str) -> None:
    assert read("# nothing\n# yet", form).data is None


GARBLED = [
    (b"a\n\xe9", "2:1: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ("é = 'à'".encode("latin-1"), "1:1: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ("a: 1".encode("utf-16"), "1:1: the byte 0xff is not UTF-8; save the file as UTF-8"),
    (
        b"a\x00: 1",
        "1:2: a NUL character stands here; take it out, or save the file as UTF-8",
    ),
    ("é\r\n\r\ná\0", "3:2: a NUL character stands here; take it out, or save the file as UTF-8"),
    ("a\n \ud800", "2:2: U+D800 is half of a character; save the file as UTF-8"),
    (b"\xed\xa0\x80", "1:1: the byte 0xed is not UTF-8; save the file as UTF-8"),
    (b"\xef\xbb\xbf\xff", "1:1: the byte 0xff is not UTF-8; save the file as UTF-8"),
    ("\ufeff\ud800", "1:1: U+D800 is half of a character; save the file as UTF-8"),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("text", "said"), GARBLED)
def test_what_is_not_utf_8_is_refused(form: str, text: str | bytes, said: str) -> None:
    assert refusal(text, form) == f"rules.{form}:{said}"


MIB = 1 << 20
LONG = {"yaml": "# ", "json": '"', "toml": "# "}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_mebibyte_is_read_and_a_byte_more_is_not(form: str, letter: str) -> None:
    head = LONG[form]
    tail = head if form == "json" else ""
    size = len(letter.encode())
    text = head + letter * ((MIB - 2) // size - len(tail)) + tail
    text += " " * (MIB - len(text.encode()))

    read(text, form)
    read(text.encode(), form)

    said = "1,048,577 bytes are too many; a file of rules has at most 1,048,576"
    assert refusal(text + " ", form) == f"rules.{form}:1:1: {said}"
    assert refusal(text.encode() + b" ", form) == f"rules.{form}:1:1: {said}"


def test_the_bound_comes_before_the_encoding() -> None:
    said = "1,048,577 bytes are too many; a file of rules has at most 1,048,576"
    assert refusal(b"\xff" * (MIB + 1), "json") == f"rules.json:1:1: {said}"


# format, what opens a level, what closes it
NESTS = [
    ("yaml", "[", "]"),
    ("yaml", "{a: ", "}"),
    ("yaml", "- ", ""),
    ("json", "[", "]"),
    ("json", '{"a":', "}"),
    ("toml", "[", "]"),
    ("toml", "{a=", "}"),
]


@pytest.mark.parametrize(("form", "opening", "closing"), NESTS)
@pytest.mark.parametrize("levels", [33, 5000, 100_000])
def test_thirty_two_levels_are_read_and_one_more_is_not(
    form: str, opening: str, closing: str, levels: int
) -> None:
    head = "a=" if form == "toml" else ""
    core = "1" if "a" in opening else ""
    # The file itself is a level in TOML.
    most = 31 if form == "toml" else 32
    read(head + opening * most + core + closing * most, form)

    said = refusal(head + opening * levels + core + closing * levels, form)

    column = len(head + opening * most) + 1
    assert said == f"rules.{form}:1:{column}: more than 32 levels deep; write it flatter"


VALUES = {"yaml": "[{}]", "json": "[{}]", "toml": "a=[{}]"}


@pytest.mark.parametrize("form", FORMATS)
def test_after_two_hundred_thousand_values_the_next_is_refused(
    form: str, monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    bound = page.MOST_VALUES
    assert bound == 200_000
    # One bound holds for all formats, and `make soak` reads that many in each of them.
    if scale == 1:
        bound = 20_000
        for module in (page, toml, tree):
            monkeypatch.setattr(module, "MOST_VALUES", bound)
    # The list and, in TOML, the file itself are values as well.
    most = bound - (2 if form == "toml" else 1)
    text = VALUES[form].format(",".join("1" * (most + 1)))

    said = f"more than {bound:,} values; use several files"
    assert refusal(text, form) == f"rules.{form}:1:{text.index(']')}: {said}"


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("rules.yaml", "yaml"),
        ("rules.yml", "yaml"),
        ("a/b.c/RULES.YML", "yaml"),
        ("rules.json", "json"),
        ("..data/rules.toml", "toml"),
    ],
)
def test_the_end_of_a_name_tells_the_format(file: str, form: str) -> None:
    assert format_of(file) == form


@pytest.mark.parametrize("file", ["rules", "rules.txt", ".yaml", "rules.yaml~", "x.yaml/rules", ""])
def test_another_name_is_refused(file: str) -> None:
    with pytest.raises(RulesError) as caught:
        format_of(file)

    said = "the name tells no format; let it end in .yaml, .yml, .json or .toml"
    assert caught.value.problems == (Problem(said, (), file),)


@pytest.mark.parametrize("form", ["yml", "YAML", "xml", ""])
def test_an_unknown_format_is_a_mistake_of_the_program(form: str) -> None:
    with pytest.raises(ValueError) as caught:
        read("", form)

    assert str(caught.value) == f'format is "yaml", "json" or "toml", not {form!r}'


def test_a_problem_has_its_file_line_and_column_apart() -> None:
    with pytest.raises(RulesError) as caught:
        read("limit: 1\nname: x\nlimit: 2\n", "yaml", "rules.yaml")

    said = '"limit" stands twice, first in line 1; keep one of them'
    assert caught.value.problems == (Problem(said, (), "rules.yaml", 3, 1),)


def spelled(*marks: tuple[int, int]) -> str:
    return " ".join(f"{line}:{column}" for line, column in marks)


def refusal(text: str | bytes, form: str) -> str:
    with pytest.raises(RulesError) as caught:
        read(text, form, f"rules.{form}")
    return str(caught.value)
