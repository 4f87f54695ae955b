"""Imports go one way: the contract in pyproject.toml holds, and would notice if it did not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

ROOT = Path(__file__).parents[2]
LEFT = shutil.ignore_patterns("*.egg-info", "__pycache__")
LINT = "from importlinter.cli import lint_imports; exit(lint_imports(no_cache=True))"


def test_imports_go_one_way() -> None:
    verdict = lint(ROOT)

    assert verdict.returncode == 0, verdict.stdout


# What is added to which module, and what is said about it.
FORBIDDEN = [
    ("clock.py", "import headgate.limiter", "headgate.clock -> headgate.limiter"),
    ("rate.py", "import headgate.decision", "headgate.rate -> headgate.decision"),
    ("algorithms/gcra.py", "import headgate.stores", "headgate.algorithms.gcra ->"),
    ("stores/memory.py", "import headgate.flow", "headgate.stores.memory -> headgate.flow"),
    ("stores/memory.py", "import headgate.stores.redis", "stores.memory -> headgate.stores"),
    ("limiter.py", "import headgate.testing", "headgate.limiter -> headgate.testing"),
    ("stores/flat/table.py", "import headgate", "headgate.stores.flat.table -> headgate (l."),
    ("__init__.py", "import headgate.testing", "headgate -> headgate.testing"),
    ("utils.py", "", "headgate.utils"),
]
# What would be a circle with one of those.
OTHERS = [("decision.py", "import headgate.rate", "headgate.decision -> headgate.rate")]


@pytest.mark.parametrize("forbidden", [FORBIDDEN, OTHERS], ids=["most", "others"])
def test_forbidden_imports_are_reported(
    tmp_path: Path, forbidden: list[tuple[str, str, str]]
) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=LEFT)
    for module, line, _ in forbidden:
        with (tmp_path / "src" / "headgate" / module).open("a") as file:
            file.write(f"\n{line}\n")

    verdict = lint(tmp_path)

    assert verdict.returncode == 1
    assert [said for _, _, said in forbidden if said not in verdict.stdout] == []


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
