"""`make quick` chooses the tests nearest to what changed, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

import quick
from quick import Choice

SOURCES = {
    "src/headgate/__init__.py": "from headgate.rules.rule import Rule",
    "src/headgate/rules/rule.py": "",
    "src/headgate/rules/keeper.py": "from headgate.rules import (\n    file,\n    rule,\n)",
    "src/headgate/breakers/breaker.py": "from headgate.flow import acquire",
    "src/headgate/flow.py": "",
    "tools/press.py": "",
    "tests/rules/corpus.py": "",
    "tests/rules/test_rule.py": "from headgate.rules.rule import Rule",
    "tests/rules/test_words.py": "from headgate import Limiter",
    "tests/breaker/test_breaker.py": "from headgate import Breaker",
    "tests/cli/test_check.py": "def test_a():\n    from headgate.rules.rule import Rule",
    "tests/gateway/test_keeper.py": "import headgate.rules.keeper",
    "tests/gateway/test_corpus.py": "from tests.rules import corpus",
    "tests/house/test_press.py": "import press",
}


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("tests/breaker/test_breaker.py", ["breaker/test_breaker.py"]),
        (
            "src/headgate/rules/rule.py",
            [
                "rules/test_rule.py",
                "cli/test_check.py",
                "rules/test_words.py",
                "gateway/test_keeper.py",
            ],
        ),
        ("src/headgate/rules/rule.pxd", ["rules/test_rule.py", "cli/test_check.py",
                                         "rules/test_words.py", "gateway/test_keeper.py"]),
        ("src/headgate/rules/words.lua", ["rules/test_words.py", "rules/test_rule.py"]),
        ("src/headgate/breakers/breaker.py", ["breaker/test_breaker.py"]),
        ("src/headgate/flow.py", ["breaker/test_breaker.py"]),
        ("tests/rules/corpus.py", ["gateway/test_corpus.py", "rules/test_rule.py",
                                   "rules/test_words.py"]),
        ("tools/press.py", ["house/test_press.py"]),
    ],
)  # fmt: skip
def test_nearest_tests_come_first(changed: str, chosen: list[str]) -> None:
    found = quick.choose([changed], SOURCES)

    assert found == Choice([f"tests/{path}" for path in chosen], [], [])


def test_change_that_no_test_stands_for_is_named() -> None:
    found = quick.choose(["LICENSE", "tests/rules/test_gone.py"], SOURCES)

    assert found == Choice([], [], ["LICENSE", "tests/rules/test_gone.py"])


def test_tests_beyond_the_bound_are_left_out() -> None:
    most = quick.MOST_MODULES
    paths = [f"tests/a/test_{number:03}.py" for number in range(most + 2)]

    found = quick.choose(paths, dict.fromkeys(paths, ""))

    assert found == Choice(paths[:most], paths[most:], [])


@pytest.mark.parametrize(
    ("code", "line"),
    [(1, "failed: tests"), (None, "failed: tests"), (0, "nothing failed")],
)
def test_summary_says_what_was_left_out_and_what_failed(code: int | None, line: str) -> None:
    choice = Choice(["tests/a/test_a.py"], ["tests/b/test_b.py", "tests/b/test_c.py"], ["LICENSE"])

    *told, last = quick.summarize(choice, {"lint": 0, "tests": code}, 41.4)

    assert last == line
    assert told[:3] == [
        "--- 41 s, 1 test modules",
        "left out, farther off than 30 others: modules of tests/b 2",
        "no test was chosen for: LICENSE",
    ]
    assert told[3:] == (["tests: stopped after 57 s"] if code is None else [])


def test_every_module_of_the_package_has_tests() -> None:
    sources = quick.read_sources()
    changed = [path for path in sources if path.startswith("src/") and "_" not in Path(path).name]

    assert quick.choose(changed, sources).uncovered == []
