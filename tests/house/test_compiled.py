"""What compiled modules may not do, because C does not look."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headgate"
TYPED = [path.with_suffix(".py") for path in sorted(PACKAGE.rglob("*.pxd"))]
COMPILED = [path for path in TYPED if path.exists()]
UNHEARD = re.compile(r"^@cython\.(freelist|no_gc)\b", re.MULTILINE)


def test_there_are_compiled_modules() -> None:
    assert PACKAGE / "limiter.py" in COMPILED


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_no_index_counts_from_the_end(path: Path) -> None:
    """Compiled without that, it is memory of somebody else."""
    assert negative(path.read_text()) == []


def test_an_index_from_the_end_is_found() -> None:
    assert negative("a[1]\na[-1]\na[:-1]\na[-b]\n") == [2, 4]


def negative(source: str) -> list[int]:
    """The lines with an index below nought; slices are looked at by Python itself."""
    if not re.search(r"\[\s*-", source):
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.UnaryOp)
        and isinstance(node.slice.op, ast.USub)
    ]


def test_what_a_pxd_cannot_ask_for_is_not_asked_for_there() -> None:
    """Cython says nothing, and does nothing about it: it goes before the class in Python."""
    assert [path.name for path in COMPILED if UNHEARD.search(types(path))] == []
    assert UNHEARD.search("@cython.final\n@cython.freelist(64)\ncdef class Gate:")


def test_what_is_only_c_is_imported_by_nobody_else() -> None:
    """Interpreted, there is no difference: it would be found by whoever compiles."""
    hidden = {name(path): found for path in COMPILED if (found := concealed(types(path)))}
    importing = re.compile(rf"\bfrom\s+({'|'.join(map(re.escape, hidden))})\s+import\b")

    def concerned(text: str) -> bool:
        # Whether a text has to be parsed: it imports from such a module, and has such a name.
        return any(one in text for module in importing.findall(text) for one in hidden[module])

    assert [
        (path.relative_to(ROOT).as_posix(), *one)
        for folder in ("src", "tests", "benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if concerned(text := path.read_text())
        for one in imports(text)
        if one[1] in hidden.get(one[0], ())
    ] == []


def test_what_is_only_c_is_found() -> None:
    source = "cdef long long ONE\ncdef object TWO, THREE\ncdef class Four:\n    cdef long five\n"

    assert concealed(f"{source}cdef long six(int a)\ncpdef seven(int a)") == {
        "ONE", "TWO", "THREE", "six",
    }  # fmt: skip
    assert imports("from a.b import c, d as e\nimport f") == [("a.b", "c"), ("a.b", "d")]


def types(path: Path) -> str:
    """The C types of a module."""
    return path.with_suffix(".pxd").read_text()


def name(path: Path) -> str:
    """What a module of the package is called."""
    return ".".join(("headgate", *path.relative_to(PACKAGE).with_suffix("").parts))


def concealed(types: str) -> set[str]:
    """The names that a module keeps from Python, by its C types."""
    found = set()
    for line in types.splitlines():
        said = re.match(r"cdef (?!class |extern |public )[\w ]*?((?:\w+, )*\w+)(\(.*)?$", line)
        found |= set(said[1].split(", ")) if said else set()
    return found


def imports(source: str) -> list[tuple[str, str]]:
    """The names that are imported in a source, and from where."""
    return [
        (node.module or "", one.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    ]
