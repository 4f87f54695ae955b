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


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("clock.py", "import headgate.limiter", "headgate.clock -> headgate.limiter"),
        ("rate.py", "import headgate.decision", "headgate.rate -> headgate.decision"),
        ("decision.py", "import headgate.rate", "headgate.decision -> headgate.rate"),
        ("algorithms/gcra.py", "import headgate.stores", "headgate.algorithms.gcra ->"),
        ("stores/memory.py", "import headgate.flow", "headgate.stores.memory -> headgate.flow"),
        ("stores/memory.py", "import headgate.stores.redis", "stores.memory -> headgate.stores"),
        ("limiter.py", "import headgate.testing", "headgate.limiter -> headgate.testing"),
        ("stores/flat/table.py", "import headgate", "headgate.stores.flat.table -> headgate (l."),
        ("__init__.py", "import headgate.testing", "headgate -> headgate.testing"),
        ("utils.py", "", "headgate.utils"),
    ],
)
def test_a_forbidden_import_is_reported(
    tmp_path: Path, module: str, line: str, broken: str
) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=LEFT)
    with (tmp_path / "src" / "headgate" / module).open("a") as file:
        file.write(f"\n{line}\n")

    verdict = lint(tmp_path)

    assert verdict.returncode == 1
    assert broken in verdict.stdout


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
