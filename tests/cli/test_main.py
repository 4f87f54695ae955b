"""The command itself: its version, its schema, and what it says where something is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

pytest.importorskip("click")

from click import Context
from click.testing import CliRunner

import headgate
from headgate.cli.program import COMMANDS, program
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
from click.testing import CliRunner
from headgate.cli.program import COMMANDS, program
words = [["--version"], ["--help"], ["chekc"], *([name, "--help"] for name in COMMANDS)]
for line in words:
    CliRunner().invoke(program, line)
heavy = {"rich", "yaml", "plotly", "httptools", "uvloop", "redis", "prometheus_client"}
loaded = [name for name in sys.modules if name.split(".")[0] in heavy]
parts = ("rules", "gateway", "service", "workers", "replay", "dashboard", "telemetry", "adapters")
loaded += [name for part in parts for name in sys.modules if name == f"headgate.{part}"]
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


@pytest.mark.parametrize(
    ("word", "hint"),
    [("chekc", "did you mean check?"), ("Gatway", "did you mean gateway?"),
     ("x", f"there are {', '.join(COMMANDS)}")],
)  # fmt: skip
def test_a_command_that_is_none_is_refused_with_what_is_like_it(word: str, hint: str) -> None:
    result = CliRunner().invoke(program, [word])

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        2,
        f'Error: there is no command "{word}"; {hint}',
    )


def test_letters_that_a_terminal_has_not_are_spelled(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: [{name: one, limit: 1/s}]\n")
    command = [sys.executable, "-m", "headgate.cli", "explain", "rules.yaml", "/\xe4"]
    tongue = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(command, cwd=tmp_path, env=tongue, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"GET /\\xe4: goes in\n")


@pytest.mark.parametrize("words", [["check"], ["replay", "a.log", "--rules"]])
def test_who_reads_a_pipe_may_go(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: [{name: one, limit: 1/s}]\n")
    (tmp_path / "a.log").write_text('::1 - - [09/Oct/2025:08:53:20 +0000] "GET / HTTP/1.1" 200 1\n')
    command = [sys.executable, "-m", "headgate.cli", *words, "rules.yaml"]
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert (done.returncode in (0, 1), done.stderr) == (True, b"")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_in_its_help_what_it_ends_with(name: str) -> None:
    result = CliRunner().invoke(program, [name, "--help"])

    assert result.exit_code == 0
    assert re.search(r"^  Ends with 0\b", result.output, re.MULTILINE), result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_told_of_in_one_whole_line(name: str) -> None:
    lines = CliRunner().invoke(program, []).output.splitlines()

    (line,) = [line for line in lines if line.startswith(f"  {name} ")]
    assert line.endswith(".")
    assert not line.endswith("...")


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"schema", "completion"}))
def test_every_command_can_say_it_in_json(name: str) -> None:
    command = program.get_command(Context(program), name)

    assert command is not None
    assert "--json" in {word for one in command.params for word in one.opts}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(shell: str) -> None:
    result = CliRunner().invoke(program, ["completion", shell])

    assert result.exit_code == 0
    assert f"_HEADGATE_COMPLETE={shell}_complete" in result.output


@pytest.mark.skipif(which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    (tmp_path / "headgate").write_text(f'#!/bin/sh\nexec {sys.executable} -m headgate.cli "$@"\n')
    (tmp_path / "headgate").chmod(0o755)
    lines = "".join(
        f"COMPREPLY=(); COMP_WORDS=(headgate {' '.join(words)}); COMP_CWORD={len(words)}\n"
        "_headgate_completion headgate; echo ${COMPREPLY[*]}\n"
        for words in (("che",), ("check", "--s"))
    )
    script = f'eval "$(headgate completion bash)"\n{lines}'
    path = f"{tmp_path}:{os.environ['PATH']}"

    told = subprocess.check_output(
        ["bash", "-c", script], text=True, env={**os.environ, "PATH": path}
    )

    assert told.splitlines() == ["check", "--strict"]


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
    command: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\n")
    extra = {"gateway": "gateway", "serve": "service"}[command]

    if module in {"httptools", "google"}:
        # In a new process, where nothing else has imported anything yet.
        code, said = run(WITHOUT.format(module=module, arguments=[command, str(file)]))
    else:
        monkeypatch.setitem(sys.modules, module, None)
        result = CliRunner().invoke(program, [command, str(file)])
        code, said = result.exit_code, result.stderr

    assert (code, said) == (
        1,
        f'headgate: the extra "{extra}" is not installed; try pip install "headgate[{extra}]"\n',
    )


def test_no_version_and_no_help_loads_what_only_the_work_needs() -> None:
    assert run(LATER) == (0, "")


def run(source: str) -> tuple[int, str]:
    """How a program ends, and what it complains of."""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr
