"""Whatever is written is read as it was meant, each part at its place; all else is a RulesError."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import RulesError
from headgate.rules.documents.document import Document, read

yaml = pytest.importorskip("yaml")

Path = tuple[str | int, ...]

# Making one example takes 20 ms and more, and `make soak` has hundreds of them.
shorter = settings(max_examples=settings().max_examples * 2 // 5)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | NUMBERS | st.text()


def values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
    )


@shorter
@given(
    values(SCALARS | st.none()),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
    st.sampled_from([(",", ":"), (" ,\r\n", " :\n")]),
)
def test_json_is_read_as_the_standard_library_reads_it_with_the_place_of_each_value(
    value: Any, indent: int | str | None, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, separators=separators)

    document = read(text, "json")

    assert document.data == value
    check(document)
    for path, mark in document.values.items():
        assert decoded(text, mark) == at(value, path)
    for path, mark in document.keys.items():
        assert decoded(text, mark) == path[-1]


@shorter
@given(values(SCALARS | st.none()))
@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_yaml_in_blocks_is_read_as_it_was_meant(loader: str, value: Any) -> None:
    text = block(value)

    document = parse(text, loader)

    assert document.data == value
    check(document)
    point(document, text)


@shorter
@given(values(SCALARS | st.none()))
def test_yaml_in_brackets_is_read_as_it_was_meant(value: Any) -> None:
    text = spell(value)

    document = read(text, "yaml")

    assert document == read(text, "json")


@shorter
@given(st.dictionaries(st.text(), values(SCALARS)))
def test_toml_is_read_as_it_was_meant(value: dict[str, Any]) -> None:
    text = tables(value)

    document = read(text, "toml")

    assert document.data == (value or None)
    check(document)
    point(document, text)


# What stands between two blanks is a piece of text, as Python spells it.
PIECES = {
    "yaml": r"a b:\x20 -\x20 \n \n\x20\x20 \n\x20\x20\x20\x20 [ ] { } , ' \" # | > & * !!str\x20 "
    r"?\x20 << 010 1.5 true ~ ---\n ...\n \t \\ \\u00e9 \\ud800 \\UFFFFFFFF % @ é \r\n \r \x20 "
    r"\x85 \x07",
    "json": r"{ } [ ] , : \"a\" \"b\" \" 1 - .5 e9 true null NaN \\ud800 // # \x20 \n é 'a' 010",
    "toml": r"a b = 1 [ ] [[ ]] { } , . \n \r\n \" ' \"\"\" \'\'\' \\ \\n # 1979-05-27 07:32:00 "
    r"inf \x20 0x1 1_0 true \t é a=1\n [a]\n [[a]]\n [a.b]\n a.b=1\n x={y=1}\n \\u00e9 010 \r \x07",
}
GOOD = {
    "yaml": "version: 1\nrules:\n  - name: 'a'\n    match: {path: [/x, '/y']}\n    limit: 10/s\n",
    "json": '{"version": 1,\n "rules": [{"name": "a", "match": {"path": ["/x"]}, "limit": 0.5}]}',
    "toml": "version = 1\n[[rules]]\nname = 'a'\nmatch.path = ['/x', {y = 1}]\n[rules.over]\nx = 2",
}


@st.composite
def scribbles(draw: st.DrawFn, form: str) -> str | bytes:
    """Text that is almost of the format, and text that is nothing at all."""
    pieces = [ast.literal_eval(f'"{piece}"') for piece in PIECES[form].split()]
    made = st.lists(st.sampled_from(pieces), max_size=30).map("".join)
    if draw(st.booleans()):
        good = GOOD[form]
        start = draw(st.integers(0, len(good)))
        stop = draw(st.integers(start, min(start + 8, len(good))))
        return good[:start] + draw(made) + good[stop:]
    return draw(made | st.text() | st.text(st.characters()) | st.binary())


@pytest.mark.parametrize("form", PIECES)
@given(st.data())
def test_any_text_is_a_document_or_a_rules_error(form: str, data: st.DataObject) -> None:
    settle(lambda: read(data.draw(scribbles(form)), form, "rules"))


@given(scribbles("yaml"))
def test_any_text_is_settled_by_the_parser_that_is_not_in_c_too(text: str | bytes) -> None:
    settle(lambda: parse(text, "SafeLoader"))


def settle(reading: Callable[[], Document]) -> None:
    """Read, and see that it ends in one of the two ways there are."""
    try:
        document = reading()
    except RulesError as error:
        (problem,) = error.problems
        assert problem.message
        assert problem.line >= 1
        assert problem.column >= 1
    else:
        check(document)


def check(document: Document) -> None:
    """See that the data is plain, and that each part and nothing else has a place."""
    paths = dict(parts(document.data, ()))

    assert document.values.keys() == paths.keys()
    assert document.keys.keys() == {path for path in paths if path and isinstance(path[-1], str)}
    for value in paths.values():
        assert type(value) in {dict, list, str, int, float, bool, type(None)}
        assert not isinstance(value, float) or math.isfinite(value)


def parts(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from parts(inner, (*path, name))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from parts(inner, (*path, index))


def point(document: Document, text: str) -> None:
    """See that the place of each key and scalar is where it is spelled, in JSON's spelling."""
    for path, mark in document.values.items():
        value = at(document.data, path)
        if not isinstance(value, dict | list) and value is not None:
            assert decoded(text, mark) == value
    for path, mark in document.keys.items():
        assert decoded(text, mark) == path[-1]


def at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def decoded(text: str, mark: tuple[int, int]) -> Any:
    """What is spelled at this line and column, as the standard library reads it."""
    line, column = mark
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n", text))]
    return json.JSONDecoder().raw_decode(text, starts[line - 1] + column - 1)[0]


def parse(text: str | bytes, loader: str) -> Document:
    """Read YAML by one of PyYAML's parsers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "CSafeLoader", getattr(yaml, loader, yaml.SafeLoader), raising=False)
        return read(text, "yaml", "rules")


def spell(value: Any) -> str:
    """Spell it as JSON, with escapes for all that one of the formats wants escaped."""
    said = json.dumps(value, ensure_ascii=False)
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: escape(found[0]), said
    )


def escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}"


def block(value: Any, margin: str = "") -> str:
    """Spell it as YAML does, a line for each entry."""
    if isinstance(value, dict) and value:
        return "".join(
            f"\n{margin}{spell(name)}:{block(inner, margin + '  ')}"
            for name, inner in value.items()
        )
    if isinstance(value, list) and value:
        return "".join(f"\n{margin}-{block(inner, margin + '  ')}" for inner in value)
    return f" {spell(value)}"


def tables(table: dict[str, Any], above: str = "") -> str:
    """Spell it as TOML does, with headers for tables and for lists of tables."""
    said, below = "", ""
    for name, value in table.items():
        dotted = f"{above}.{spell(name)}" if above else spell(name)
        if isinstance(value, dict):
            below += f"[{dotted}]\n{tables(value, dotted)}"
        elif value and isinstance(value, list) and all(isinstance(item, dict) for item in value):
            below += "".join(f"[[{dotted}]]\n{tables(item, dotted)}" for item in value)
        else:
            said += f"{spell(name)} = {inline(value)}\n"
    return said + below


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{spell(name)} = {inline(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return spell(value)
