"""The command itself: its version, its schema, and what it says where something is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")

from click.testing import CliRunner

import headgate
from headgate.cli.program import program
from headgate.rules.model.schema import schema

WITHOUT = """\
import sys
sys.modules[{module!r}] = None
sys.argv = ["headgate", *{arguments!r}]
from headgate.cli.main import main
main()
"""
LATER = """\
import sys
from headgate.cli import program
loaded = [name for name in sys.modules if name.split(".")[0] in {"rich", "yaml"}]
loaded += [name for name in sys.modules if name.startswith("headgate.rules")]
sys.exit(str(loaded) if loaded else 0)
"""


def test_the_version_says_whether_the_core_is_compiled() -> None:
    result = CliRunner().invoke(program, ["--version"])

    form = "compiled" if headgate.COMPILED else "interpreted"
    assert (result.exit_code, result.output) == (0, f"headgate {headgate.__version__}, {form}\n")


def test_the_schema_is_printed() -> None:
    result = CliRunner().invoke(program, ["schema"])

    assert result.exit_code == 0
    assert json.loads(result.stdout) == schema()


def test_without_a_word_it_tells_what_it_can_do() -> None:
    result = CliRunner().invoke(program, [])

    assert [word for word in ("check", "schema", "--version") if word not in result.output] == []


def test_a_command_that_is_none_is_refused() -> None:
    assert CliRunner().invoke(program, ["chekc"]).exit_code == 2


def test_without_click_it_says_what_to_install(tmp_path: Path) -> None:
    assert run(WITHOUT.format(module="click", arguments=["--version"])) == (
        2,
        'headgate: the extra "cli" is not installed; try pip install "headgate[cli]"\n',
    )


@pytest.mark.parametrize(("module", "extra"), [("rich", "cli"), ("yaml", "yaml")])
def test_without_the_rest_it_says_so_too(module: str, extra: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\n")

    code, said = run(WITHOUT.format(module=module, arguments=["check", str(file)]))

    assert code == 2
    assert said.endswith(
        f'the extra "{extra}" is not installed; try pip install "headgate[{extra}]"\n'
    )
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("gateway", "httptools"), ("serve", "httptools"), ("serve", "hpack"),
        ("serve", "google.protobuf"), ("serve", "google"),
    ],
)  # fmt: skip
def test_what_serves_says_at_once_what_to_install(
    command: str, module: str, tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\n")
    extra = {"gateway": "gateway", "serve": "service"}[command]

    code, said = run(WITHOUT.format(module=module, arguments=[command, str(file)]))

    assert (code, said) == (
        1,
        f'headgate: the extra "{extra}" is not installed; try pip install "headgate[{extra}]"\n',
    )


def test_what_a_command_does_not_need_is_not_loaded() -> None:
    assert run(LATER) == (0, "")


def run(source: str) -> tuple[int, str]:
    """How a program ends, and what it complains of."""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr
