"""What compiled modules may not do, because C does not look."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "headgate"
TYPED = [path.with_suffix(".py") for path in sorted(PACKAGE.rglob("*.pxd"))]
COMPILED = [path for path in TYPED if path.exists()]


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
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.UnaryOp)
        and isinstance(node.slice.op, ast.USub)
    ]
