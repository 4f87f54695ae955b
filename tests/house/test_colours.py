"""The colour budget: few lines of the package are there twice, once with `await`.

At most 50 in what decides how often, 60 in what holds, breaks, paces and guards, and 80 in rules
and adapters, which speak to frameworks of either colour. A gateway and a service have one colour;
that a few of their lines look alike is chance.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "headgate"
BUDGETS = {"often": 50, "else": 60, "rules": 80, "gateway": 50}
ELSE = re.compile("(bulkheads|breakers|pacers|guards|permits)/|wrapper|steer|system")
RULES = re.compile("(rules|adapters)/")
GATEWAY = re.compile("(gateway|service|wire|workers)/")

# What tells the colours apart: take it away, and the two lines are one.
COLOUR = re.compile(r"\basync |\bawait |\bAsync|(?<=__)a(?=enter__|exit__)|(?<=\.)a(?=sleep)")
# A text without these has no async part, and need not be parsed.
ASYNC_PART = re.compile(r"\basync\s+def\b|\bclass\s+Async")


def test_few_lines_differ_only_by_await() -> None:
    counts = dict.fromkeys(BUDGETS, 0)
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        kinds = {"rules": RULES, "else": ELSE, "gateway": GATEWAY}
        what = next((kind for kind, names in kinds.items() if names.match(name)), "often")
        counts[what] += len(repeated(path.read_text()))

    assert all(counts[what] <= budget for what, budget in BUDGETS.items()), counts


def test_a_line_is_counted_when_only_await_tells_it_apart() -> None:
    source = (
        "class Gate:\n"
        "    def take(self, key):\n"
        "        return self.store.apply(key)\n"
        "    def __enter__(self):\n"
        "        return self.first\n"
        "class AsyncGate:\n"
        "    async def take(self, key):\n"
        '        """The same, awaited."""\n'
        "        return await self.store.apply(key)\n"
        "    async def __aenter__(self):\n"
        "        return self.second\n"
    )

    assert repeated(source) == [
        "class Gate:",
        "def take(self, key):",
        "return self.store.apply(key)",
        "def __enter__(self):",
    ]


def repeated(source: str) -> list[str]:
    """The lines of the async part of a module that its other part has too, but for the colour."""
    if not ASYNC_PART.search(source):
        return []
    tree = ast.parse(source)
    spoken = docstrings(tree)
    dyed = {line for node in tree.body for line in async_lines(node)} - spoken
    plain: Counter[str] = Counter()
    found = []
    texts = source.splitlines()
    for number, text in enumerate(texts, start=1):
        if number not in dyed and number not in spoken:
            plain[bleached(text)] += 1
    for number in sorted(dyed):
        line = bleached(texts[number - 1])
        if len(line) > 8 and plain[line] > 0:
            plain[line] -= 1
            found.append(line)
    return found


def async_lines(node: ast.AST) -> set[int]:
    """The lines of an `Async...` class, or of `async def` anywhere in another one."""
    if isinstance(node, ast.AsyncFunctionDef) or (
        isinstance(node, ast.ClassDef) and node.name.startswith("Async")
    ):
        return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return {line for child in ast.iter_child_nodes(node) for line in async_lines(child)}


def docstrings(tree: ast.Module) -> set[int]:
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def bleached(line: str) -> str:
    return COLOUR.sub("", line.partition("#")[0]).strip()
