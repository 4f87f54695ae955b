"""Time is an argument: no module but clock.py asks what time it is, or sleeps."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "headgate"
OTHERS = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "clock.py")

# Asking for any of these is asking the time, whatever it is asked of.
ALWAYS = {
    "clock_gettime",
    "clock_gettime_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
    "time_ns",
    "utcnow",
}
# These are innocent words elsewhere: `clock.now()` and `clock.sleep()` are the way to do it.
OF_MODULES = {
    "asyncio": {"sleep"},
    "date": {"today"},
    "datetime": {"now", "today"},
    "loop": {"time"},
    "time": {"gmtime", "localtime", "sleep", "time"},
}
# A text without any of these has no such node: parsing all modules would take most of the time.
SUSPECT = re.compile(
    rf"\b(?:{'|'.join(sorted(ALWAYS))})\b|\bfrom\s+(?:{'|'.join(OF_MODULES)})\s+import\b|"
    + "|".join(
        rf"\b{module}\W+(?:{'|'.join(sorted(words))})\b" for module, words in OF_MODULES.items()
    )
)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_but_clock_asks_the_time(path: Path) -> None:
    assert asked(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\nstart = time.time()",
        "import time\nstart = time.monotonic_ns()",
        "import time as t\nstart = t.perf_counter()",
        "from time import monotonic",
        "from time import sleep",
        "import datetime\nstart = datetime.datetime.now(tz)",
        "from datetime import datetime\nstart = datetime.utcnow()",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)",
    ],
)
def test_a_module_that_asks_the_time_is_found(source: str) -> None:
    assert asked(source)


@pytest.mark.parametrize(
    "source",
    [
        "now = clock.now()",
        "self.clock.sleep(1.0)",
        "from datetime import datetime, timezone\nday = datetime.fromtimestamp(now, tz=zone)",
        "'''time.time() is not asked here'''",
    ],
)
def test_a_module_that_is_told_the_time_is_not(source: str) -> None:
    assert asked(source) == []


def asked(source: str) -> list[str]:
    """The places in `source` that ask the time, as `line: what`."""
    found: list[str] = []
    if not SUSPECT.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            banned = ALWAYS | OF_MODULES.get(node.module or "", set())
            found += [f"{node.lineno}: {name.name}" for name in node.names if name.name in banned]
        if isinstance(node, ast.Attribute) and (
            node.attr in ALWAYS or node.attr in OF_MODULES.get(last(node.value), set())
        ):
            found.append(f"{node.lineno}: {last(node.value)}.{node.attr}")
    return found


def last(node: ast.expr) -> str:
    """The word before the dot: `datetime` in `datetime.datetime.now`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
