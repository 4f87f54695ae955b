"""The twins: rendered as they should be, refused where they must be, and fresh."""

from __future__ import annotations

import random
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from lupa.lua51 import LuaRuntime

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import twins
from sliver import SliverError

ROOT = Path(__file__).parents[2]
SAMPLE = '''
"""Every construct of the sliver, and nothing else."""

from headgate.algorithms.limit import Limit

SLACK = 1_000_000
WIDE = 1 << 40
LOW = -SLACK // 3 + 2
UNUSED = "not a number, and named by nobody below"


def step(a: int, b: int, c: int) -> tuple[int, int, int, int]:
    """Arithmetic, precedence and choice.

    Only the first line of this is rendered.
    """
    sums = a - (b - c) + a * (b + c) - (a + b) * c
    quotients = (a * b // c) * 2 + a // (b * c) + a // b * c + a * (b // c) + a % (b + c) * 3
    minus = -(-a) - -b + -(a - b) - -3
    most = max(a, min(b, c), a // b, 7)
    if a < b and not b == c or (a != c or a >= 9) and (b <= 3 or c > 4):
        most += 1
    elif not (a > b and b > c) or not a < c:
        most -= a + b
    elif a == 3:
        most *= a + 1
    else:
        most %= c + SLACK
    if most < LOW:
        most = WIDE
    turns = 0
    while turns < a % 5 and most > 0:
        turns += 1
        most //= turns + 1
    first, second = halves(sums, quotients)
    return first + second, quotients, minus * twice(most), turns


def halves(a: int, b: int) -> tuple[int, int]:
    if a < b:
        return halved(b, a)
    return (a - b, b)


def halved(a: int, b: int) -> tuple[int, int]:
    return max(a, 0) // 2, b


def twice(a: int) -> int:
    return a * 2


def charge(a: int) -> tuple[int]:
    return (a + 1,)


def settle(a: int, b: int, cells: list[int], row: int) -> None:
    if a == b:
        return
    place = 0
    cells[0] = cells[0] + a
    cells[row] += b
    cells[row + 1] -= a * 2
    cells[row + 1 + a % 2] = cells[row - 1] + cells[row + 2 - b % 2]
    cells[(row + 1) * 2] = cells[row + 2 + place] // 3
    turn(cells, row + 1)


def turn(cells: list[int], row: int) -> None:
    while cells[row] > 5:
        cells[row] -= 3


def helper(text: str) -> str:
    return f"{text}: no step calls me, so I am nobody's twin"
'''

CONTRACT = """
ctypedef (long long, long long, long long) Reply

cdef class Limit:
    cdef readonly long long most
    cdef Reply look(
        self, long long* cells, long long now
    ) noexcept nogil
    cdef void open(self, long long* cells, long long now) noexcept nogil
    cdef (long long, long long) pair(self) noexcept nogil
"""


@pytest.fixture(scope="module")
def python() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(SAMPLE.replace("from headgate.algorithms.limit import Limit", ""), names)
    return names


@pytest.fixture(scope="module")
def runtime() -> Any:
    return LuaRuntime()


@pytest.fixture(scope="module")
def lua(runtime: Any) -> Any:
    return runtime.execute(twins.render_lua(SAMPLE, "sample.py"))


def test_numbers_are_the_same_in_lua(python: dict[str, Any], lua: Any) -> None:
    chance = random.Random(1)
    for _ in range(5_000):
        size = chance.choice([3, 12, 1_000, 1 << 20])
        numbers = [chance.randint(1, size) for _ in range(3)]
        assert tuple(lua.step(*numbers)) == python["step"](*numbers), numbers
        assert (lua.charge(numbers[0]),) == python["charge"](numbers[0])


def test_cells_are_the_same_in_lua(python: dict[str, Any], runtime: Any, lua: Any) -> None:
    chance = random.Random(2)
    for _ in range(2_000):
        a, b, row = chance.randint(0, 30), chance.randint(0, 30), chance.randint(1, 4)
        cells = [chance.randint(100, 200) for _ in range(12)]
        table = runtime.table_from(cells)
        lua.settle(a, b, table, row)
        python["settle"](a, b, cells, row)
        assert list(table.values()) == cells, (a, b, row)


def test_quotients_and_remainders_are_exact_up_to_2_to_the_53() -> None:
    source = "def step(a, b):\n    return a // b, a % b\n"
    step = LuaRuntime().execute(twins.render_lua(source, "exact.py")).step
    chance = random.Random(3)
    for _ in range(20_000):
        b = chance.randint(1, 1 << chance.randint(1, 53))
        a = min(b * chance.randint(0, (1 << 53) // b) + chance.choice([-1, 0, 1]), (1 << 53) - 1)
        assert tuple(step(max(a, 0), b)) == divmod(max(a, 0), b), (a, b)


def test_the_lua_reads_as_a_person_would_write_it() -> None:
    source = '''
SLACK = 1_000_000
ROOM = 1 << 50


def step(now, stamp, cells, row):
    """What is true now."""
    if now < stamp - SLACK:
        stamp = now
    elif now != stamp:
        level = 1
    else:
        level = -(now - stamp) * 2
    level, kept = later(min(level, ROOM), stamp)
    return level // (kept + 1), cells[row]


def later(a, b):
    return a, b - (a - b)


def settle(cells, row, turn):
    cells[row + 1] += turn
    cells[row + 3 + turn % 4] = 0
'''
    assert twins.render_lua(source, "src/tidy.py") == textwrap.dedent("""\
        -- Rendered from tidy.py by tools/twins.py; edit that file, not this one.

        local SLACK = 1000000
        local ROOM = 1125899906842624

        local function later(a, b)
          return a, b - (a - b)
        end

        -- What is true now.
        local function step(now, stamp, cells, row)
          local level, kept
          if now < stamp - SLACK then
            stamp = now
          elseif now ~= stamp then
            level = 1
          else
            level = -(now - stamp) * 2
          end
          level, kept = later(math.min(level, ROOM), stamp)
          return math.floor(level / (kept + 1)), cells[row + 1]
        end

        local function settle(cells, row, turn)
          cells[row + 2] = cells[row + 2] + turn
          cells[row + 4 + turn % 4] = 0
        end

        return {step = step, later = later, settle = settle}
        """)


def test_the_declarations_give_every_number_64_bits() -> None:
    source = """
from typing import Any

from headgate.algorithms.limit import Limit

SLACK = 1_000_000


def step(now, cells, row):
    turns = 0
    more = turns + 1
    while turns < now:
        turns += more
    left = now + cells[row]
    return turns, left, SLACK


def settle(cells, row):
    cells[row] = single(row)


def single(row):
    return row


def charge(now):
    return now, 1


class Sample(Limit):
    gain: int
    spelling: str
    extra: Any

    def __init__(self) -> None:
        self.gain = 1

    def look(self, cells, now):
        return step(now, cells, 0)

    def pair(self):
        return charge(1)

    def show(self):
        return ""
"""
    assert twins.render_pxd(source, "sample.py", CONTRACT) == textwrap.dedent("""\
        # Rendered from sample.py by tools/twins.py; edit that file, not this one.
        cimport cython
        from headgate.algorithms.limit cimport Limit, Reply

        cdef long long SLACK

        @cython.locals(turns=cython.longlong, more=cython.longlong)
        cdef Reply step(long long now, long long* cells, long long row) noexcept nogil
        cdef (long long, long long) charge(long long now) noexcept nogil
        cdef long long single(long long row) noexcept nogil
        cdef void settle(long long* cells, long long row) noexcept nogil

        cdef class Sample(Limit):
            cdef readonly long long gain
            cdef readonly object spelling
            cdef readonly object extra
            cdef Reply look(self, long long* cells, long long now) noexcept nogil
            cdef (long long, long long) pair(self) noexcept nogil
        """)


def test_a_constant_may_come_from_a_neighbour(tmp_path: Path) -> None:
    (tmp_path / "limit.py").write_text("HALF = 1 << 3\nROOM = HALF * 2\n")
    source = "from headgate.algorithms.limit import ROOM\n\ndef step(a):\n    return a, ROOM\n"
    assert "local ROOM = 16\n" in twins.render_lua(source, str(tmp_path / "near.py"))


OUTSIDE = {
    "a = 1.5": "a float (1.5) is outside the sliver; use integers",
    "a = 'x'": "a string ('x') is outside the sliver; use integers",
    "a = True": "a truth value (True) is outside the sliver; use integers",
    "a = None": "a constant (None) is outside the sliver; use integers",
    "a = f'{b}'": "an f-string is outside the sliver; use integers",
    "a = b / 2": "true division (/) is outside the sliver; use //",
    "a = b << 2": "the operator << is outside the sliver; use + - * // %",
    "a **= 2": "the operator ** is outside the sliver; use + - * // %",
    "a = ~b": "the operator ~ is outside the sliver; use + - * // %",
    "a = -b // 2": "a negated dividend (-b) is outside the sliver; "
    "divide what is not negative; (a + b - 1) // b rounds up",
    "a = 1 << 60": "the operator << is outside the sliver; use + - * // %",
    "a = 9007199254740993": "an integer beyond 2^53 (9007199254740993) is outside the sliver; "
    "use a smaller one",
    "a = b < 2": "a condition as a number (b < 2) is outside the sliver; use an if statement",
    "a = b or 2": "a condition as a number (b or 2) is outside the sliver; use an if statement",
    "a = not b": "a condition as a number (not b) is outside the sliver; use an if statement",
    "a = b if b > 1 else 2": "a conditional expression is outside the sliver; use an if statement",
    "a = (b := 2)": "a walrus is outside the sliver; assign on a line of its own",
    "a = lambda: 1": "a lambda is outside the sliver; write a def at module level",
    "a = [1]": "a list is outside the sliver; use parameters and cells",
    "a = [i for i in b]": "a comprehension is outside the sliver; use while",
    "a = {}": "a dictionary is outside the sliver; use parameters and cells",
    "a = b, 1": "a tuple within is outside the sliver; return it, or unpack a call: a, b = f(x)",
    "a = b = 1": "this assignment (a = b = 1) is outside the sliver; assign one number to one name",
    "a, b = b, a": "assignment to (a, b) is outside the sliver; assign to a name or a cell",
    "a: int = 1": "an annotated assignment is outside the sliver; write name = value",
    "a = b.real": "an attribute (b.real) is outside the sliver; pass it as a parameter",
    "a = b.bit_length()": "an attribute (b.bit_length) is outside the sliver; "
    "pass it as a parameter",
    "a = b[0]": "subscript (b[0]) is outside the sliver; use integers, if, while and return",
    "a = cells": "cells as a number is outside the sliver; read one of them: cells[row]",
    "a = cells[0:1]": "a slice is outside the sliver; read one cell at a time",
    "a = cells[-1]": "a negative index (-1) is outside the sliver; count from the first cell",
    "cells = 1": "assignment to cells is outside the sliver; assign to a name or a cell",
    "a = unknown": "the name unknown is outside the sliver; "
    "use a parameter, a local or a constant of the module",
    "a = TEXT": "a constant like 'text' is outside the sliver; use integers",
    "a = monotonic": "a name of time is outside the sliver; "
    "import constants from headgate.algorithms",
    "end = 1": "the name end is outside the sliver; it is a word of Lua or C, so choose another",
    "a = abs(b)": "a call of abs is outside the sliver; call min, max or a function of this module",
    "a = max(b)": "max of one is outside the sliver; give it two numbers or more",
    "a = max(*b, 1)": "a star is outside the sliver; pass each number by position",
    "a = twice(b, 1)": "twice with 2 arguments is outside the sliver; it takes 1",
    "a = twice(a=b)": "a keyword argument (a=) is outside the sliver; pass it by position",
    "twice(b)": "this use of twice is outside the sliver; "
    "it answers long long, and void is used here",
    "a = pair(b)": "this use of pair is outside the sliver; "
    "it answers (long long, long long), and long long is used here",
    "a, b, c = pair(b)": "this use of pair is outside the sliver; it answers "
    "(long long, long long), and (long long, long long, long long) is used here",
    "a, cells[a] = pair(b)": "unpacking into cells[a] is outside the sliver; unpack into names",
    "fill(b)": "b as cells is outside the sliver; pass cells",
    "a = step(a, b, cells)": "recursion (step) is outside the sliver; use while",
    "for i in b: a = 1": "a for loop is outside the sliver; use while",
    "while a < 1: break": "break is outside the sliver; end the loop by its condition",
    "while a < 1: continue": "continue is outside the sliver; use an if statement",
    "while a < 1: a = 1\n    else: a = 2": "else on a while loop is outside the sliver; "
    "use an if statement",
    "if 0 < a < 2: a = 1": "a chain (0 < a < 2) is outside the sliver; join two with and",
    "if a in b: a = 1": "a in b is outside the sliver; use == != < <= > >=",
    "if a: a = 1": "a number as a condition (a) is outside the sliver; "
    "compare it with 0, which is true in Lua",
    "if a > 1: pass": "pass is outside the sliver; leave the branch out",
    "if a > 1: return 1\n    else: return 2\n    a = 3": "what follows a return is outside the "
    "sliver; remove it",
    "assert a": "assert is outside the sliver; check it where the limit is built",
    "raise a": "raise is outside the sliver; return an answer",
    "def inner(): return 1": "a function in a function is outside the sliver; "
    "write it at module level",
    "a": "a bare expression is outside the sliver; assign it, or remove it",
    "global a": "global (global a) is outside the sliver; use integers, if, while and return",
}
AROUND = """
from time import monotonic
TEXT = "text"
def twice(a): return a + a
def pair(a): return a, a
def fill(cells): cells[0] = 1
def step(a, b, cells):
    {}
    return a, b
"""


@pytest.mark.parametrize("statement", OUTSIDE)
def test_outside_the_sliver_is_said_where_and_what_would_be_right(statement: str) -> None:
    source = AROUND.format(statement)
    line = 3 if "TEXT" in statement else 8
    with pytest.raises(SliverError) as refusal:
        twins.render_lua(source, "x.py")
    assert str(refusal.value) == f"x.py:{line}: {OUTSIDE[statement]}"


DEFINITIONS = {
    "def step(a, b=1):\n    return a": "such a def (step) is outside the sliver; "
    "name each parameter, without default or decorator",
    "def step(*a):\n    return 1": "such a def (step) is outside the sliver; "
    "name each parameter, without default or decorator",
    "def step(nil):\n    return 1": "the name nil is outside the sliver; "
    "it is a word of Lua or C, so choose another",
    "def step(a):\n    if a > 1:\n        return a": "step answering in two ways is outside the "
    "sliver; return alike throughout",
}


@pytest.mark.parametrize("source", DEFINITIONS)
def test_a_definition_is_plain(source: str) -> None:
    with pytest.raises(SliverError) as refusal:
        twins.render_pxd(source, "x.py", CONTRACT)
    assert str(refusal.value) == f"x.py:1: {DEFINITIONS[source]}"


def test_a_function_answers_or_writes_but_not_both() -> None:
    source = (
        "def step(cells):\n    fill(cells)\n    return 1\n\ndef fill(cells):\n    cells[0] = 1\n"
    )
    with pytest.raises(SliverError) as refusal:
        twins.render_lua(source, "x.py")
    assert str(refusal.value) == (
        "x.py:1: step writing cells and answering is outside the sliver; do one of the two"
    )


def test_cells_are_a_parameter() -> None:
    with pytest.raises(SliverError) as refusal:
        twins.render_lua("def step(row):\n    return cells[row]", "x.py")
    assert str(refusal.value) == (
        "x.py:2: cells without a parameter of that name is outside the sliver; "
        "pass cells and row last"
    )


def test_the_twins_in_the_tree_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    status = twins.main(["--check"])
    assert (status, capsys.readouterr().out.count("fresh ")) == (0, 2 * len(steps()))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "src/headgate/algorithms/limit.pxd", tmp_path)
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "plain.py").write_text("def stepping(text):\n    return text.upper()\n")
    assert twins.main(["sample.py", "plain.py"]) == 0
    return tmp_path


def test_what_was_written_is_fresh_and_steps_only_have_twins(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert twins.main(["--check", "sample.py", "plain.py"]) == 0
    assert capsys.readouterr().out == "fresh sample.lua\nfresh sample.pxd\n"


@pytest.mark.parametrize("twin", ["sample.lua", "sample.pxd"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"0", b"1", 1) if b"0" in text else text.replace(b"l", b"1", 1),
        lambda text: text[: len(text) // 2],
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: text.replace(b"\n", b"\r\n"),
    ],
    ids=["one byte", "half", "no last newline", "one newline more", "line endings"],
)
def test_a_changed_twin_is_stale(
    tree: Path, capsys: pytest.CaptureFixture[str], twin: str, change: Any
) -> None:
    (tree / twin).write_bytes(change((tree / twin).read_bytes()))
    assert twins.main(["--check", "sample.py"]) == 1
    assert f"stale {twin}; run python tools/twins.py\n" in capsys.readouterr().out


def test_a_twin_that_is_not_there_is_missing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "sample.lua").unlink()
    capsys.readouterr()
    assert twins.main(["--check", "sample.py"]) == 1
    assert capsys.readouterr().out == (
        "missing sample.lua; run python tools/twins.py\nfresh sample.pxd\n"
    )


def test_a_refusal_fails_and_the_other_modules_are_written(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "bad.py").write_text("def step(a):\n    return a / 2\n")
    capsys.readouterr()
    assert twins.main(["bad.py", "sample.py"]) == 1
    assert capsys.readouterr().out == (
        "bad.py:2: true division (/) is outside the sliver; use //\n"
        "wrote sample.lua\nwrote sample.pxd\n"
    )


def steps() -> list[Path]:
    modules = (ROOT / "src/headgate/algorithms").glob("*.py")
    return [path for path in modules if "\ndef step(" in path.read_text("utf-8")]
