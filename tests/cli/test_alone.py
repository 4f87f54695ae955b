"""What only reads rules needs no more than the extra of the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
from headgate.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "arguments", [["check"], ["explain", "GET /"], ["doctor", "--skip", "machine.clock"]], ids=str
)
def test_a_command_that_reads_rules_needs_no_other_extra(
    arguments: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    name, *rest = arguments
    command = [sys.executable, "-c", WITHOUT, name, str(file), *rest]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
