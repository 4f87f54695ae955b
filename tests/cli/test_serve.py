"""`headgate serve`: what it says when it cannot begin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("httptools")
pytest.importorskip("hpack")


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ("domain: edge\ndescriptors: [{keys: path}]\n", "edge.yaml:2:15: descriptors[0]: lacks "),
        ("", "edge.yaml: cannot be read: No such file or directory"),
    ],
    ids=["broken", "missing"],
)
def test_a_file_of_domains_that_is_bad_is_told_and_no_worker_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, domains: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if domains:
        Path("edge.yaml").write_text(domains)
    listen = '["http://127.0.0.1:0"]'
    Path("rules.yaml").write_text(
        f"version: 1\nservice: {{listen: {listen}, ratelimit: {{files: [edge.yaml]}}}}\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "headgate.cli", "serve", "rules.yaml"],
        capture_output=True, text=True, check=False, timeout=30, env=dict(os.environ),
    )  # fmt: skip

    # A supervisor does not begin again what rules keep from it.
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert "listening" not in done.stderr
