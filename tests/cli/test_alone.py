"""What only reads rules needs no more than the extra of the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

RULES = """\
version: 1
client: {trusted_proxies: [127.0.0.1]}
rules: [{name: all, key: client.ip, limit: 5/min}]
"""
# Whatever other extras bring along.
WITHOUT = """\
import sys

class Gap:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {"google", "hiredis", "hpack", "httptools", "plotly", "redis"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gap())
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from json import dumps, loads
from headgate.cli.main import main

ends = []
for line in loads(sys.argv[1]):
    sys.argv = ["headgate", *line]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        try:
            main()
        except SystemExit as end:
            ends.append((end.code, said.getvalue()))
print(dumps(ends))
"""
COMMANDS = [["check"], ["explain", "GET /"], ["doctor", "--skip", "machine.clock"]]


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """The status of each command and what it complains of, all in one process."""
    file = tmp_path_factory.mktemp("alone") / "rules.yaml"
    file.write_text(RULES)
    lines = [[name, str(file), *rest] for name, *rest in COMMANDS]
    command = [sys.executable, "-c", WITHOUT, json.dumps(lines)]
    found: list[list[Any]] = json.loads(subprocess.check_output(command, text=True))
    return found


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[one[0] for one in COMMANDS])
def test_a_command_that_reads_rules_needs_no_other_extra(
    number: int, ends: list[list[Any]]
) -> None:
    assert ends[number] == [0, ""]
