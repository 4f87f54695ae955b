"""Extras: what is not Python's own is guarded, belongs to one, and each is told of."""

from __future__ import annotations

import ast
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

from extras import HINT, judged
from promises import HANDED, JOINED, PROMISES, ROOT, TOOLS, USES, closure, extras, plain

PACKAGE = ROOT / "src" / "headgate"
MODULES = sorted(PACKAGE.rglob("*.py"))
OWN = {*sys.stdlib_module_names, "headgate", "cython"}
IMPORT = re.compile(r"^ *(?:from|import) ([a-z_]\w*)", re.MULTILINE | re.IGNORECASE)
# Which distribution a module belongs to, where it is not called the same.
CALLED = {"google": "protobuf", "grpc": "grpcio", "rest_framework": "djangorestframework",
          "yaml": "pyyaml", "opentelemetry": "opentelemetry-api"}  # fmt: skip
# What comes with another one, whose guard is its own.
WITH = {"asgiref": "django", "starlette": "fastapi", "werkzeug": "flask"}
# Whoever loads these has what they import.
LOADED = {
    "headgate/testing/plugin.py": "pytest",
    # It looks whether it is there first.
    "headgate/telemetry/prometheus.py": "prometheus-client",
}
ASKED = extras()
USERS = {name: lines for name, lines in ASKED.items() if name not in TOOLS}
LICENCES = {"BSD-3-Clause": ("BSD",), "MIT or Apache-2.0": ("MIT",),
            "Apache-2.0 and MIT": ("Apache-2.0",)}  # fmt: skip


class Foreign(NamedTuple):
    """Modules that come from elsewhere: those whose absence is answered, and the others."""

    guarded: list[str]
    loose: list[str]


def test_every_extra_promises_something() -> None:
    told = [*PROMISES, *USES, *HANDED, *JOINED]

    assert sorted(told) == sorted(USERS)


def test_all_is_all_of_them() -> None:
    asked = {name for name in USERS if name != "all"}

    assert USERS["all"] == [f"headgate[{','.join(sorted(asked))}]"]


def test_who_works_on_it_has_all_of_it() -> None:
    assert closure("all", ASKED) <= closure("dev", ASKED)


def test_what_is_not_pythons_own_is_guarded_and_belongs_to_an_extra() -> None:
    known = closure("all", ASKED)
    found = {path: found for path in MODULES if any(found := foreign(path.read_text()))}
    guards = {path: {owner(one) for one in each.guarded} for path, each in found.items()}

    assert len(found) > 20
    for path, each in found.items():
        near = {one for other, names in guards.items() if other.parent in path.parents
                for one in names}  # fmt: skip
        spared = {LOADED.get(short(path), "")}
        assert {owner(one) for one in each.loose} - near - spared == set(), path
        assert {owner(one) for one in (*each.loose, *each.guarded)} - known - spared == set(), path


@pytest.mark.parametrize(
    ("source", "loose"),
    [
        ("import click", ["click"]),
        ("import os\nfrom headgate import Limiter", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import click", []),
        ("try:\n    import rich.table\nexcept ImportError:\n    raise", []),
        ("try:\n    import rich\nexcept ValueError:\n    raise", ["rich"]),
        ("def f():\n    import redis.asyncio", ["redis"]),
    ],
)
def test_an_import_that_nobody_guards_is_found(source: str, loose: list[str]) -> None:
    assert foreign(source).loose == loose


def test_every_extra_is_told_of() -> None:
    page = (ROOT / "docs" / "reference" / "extras.md").read_text()

    assert set(re.findall(r"^\| `([a-z]+)` \|", page, re.MULTILINE)) >= set(USERS)


def test_the_licences_of_all_that_is_used_are_told() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| ((?:`\w+`(?:, )?)+) \| ", page(), re.MULTILINE)
    told = {plain(name): set(re.findall(r"`(\w+)`", names)) for name, names in rows}
    direct = {name: names(name) for name in closure("all", ASKED)}

    assert told.keys() == direct.keys()
    assert {name: found for name, found in told.items() if not found <= direct[name]} == {}


@pytest.mark.parametrize("name", sorted(closure("all", ASKED)))
def test_a_licence_is_the_one_that_the_distribution_names(name: str) -> None:
    (said,) = re.findall(rf"(?im)^\| {re.escape(name)} \| [^|]* \| ([^|]*) \|$", page())
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    named = " ".join(
        [*found.get_all("License-Expression", []), *found.get_all("License", []),
         *found.get_all("Classifier", [])]
    )  # fmt: skip

    assert any(word in named for word in LICENCES.get(said, (said,)))


def test_a_promise_that_is_broken_is_told() -> None:
    asked = HINT.format("redis")
    fine = dict.fromkeys([*PROMISES, *USES, *HANDED], "here") | {"redis": asked}

    assert judged("cli", fine) == []
    assert judged("redis", fine) == [f"redis: {asked}"]
    assert judged("cli", {**fine, "flask": asked}) == [f"flask: {asked}"]
    assert judged("cli", {**fine, "httpx": "Oh\nValueError: no"}) == ["httpx: ValueError: no"]
    assert judged("", {"service": HINT.format("gateway")}) == []


def page() -> str:
    return (ROOT / "THIRD-PARTY.md").read_text()


def names(distribution: str) -> set[str]:
    """The extras that ask for a distribution, not counting those that ask for everything."""
    return {one for one in USERS if one != "all" and distribution in closure(one, ASKED)}


def short(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).as_posix()


def owner(name: str) -> str:
    """The distribution whose guard counts for a module."""
    name = WITH.get(name, name)
    return plain(CALLED.get(name, name))


def foreign(source: str) -> Foreign:
    """What is imported and is neither Python's own nor ours."""
    found = Foreign([], [])
    # Most files import nothing of the kind: those need not be understood.
    if not OWN.issuperset(IMPORT.findall(source)):
        walk(ast.parse(source), found, False)
    return found


def walk(node: ast.AST, found: Foreign, guarded: bool) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        safe = guarded or (isinstance(node, ast.Try) and child in node.body and answers(node))
        names = [top(name) for name in imported(child)]
        (found.guarded if safe else found.loose).extend(one for one in names if one not in OWN)
        walk(child, found, safe)


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def answers(node: ast.Try) -> bool:
    return any("ImportError" in ast.dump(one.type) for one in node.handlers if one.type)


def top(name: str) -> str:
    return name.partition(".")[0]
