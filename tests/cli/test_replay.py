"""`headgate replay` and `headgate suggest`: what they say, and the codes they end with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from click.testing import CliRunner, Result

from headgate.cli.program import program
from tests.missing import lose
from tests.replay.truth import FORMAT, START, Ask, written

RULES = "version: 1\nrules: [{name: one, key: client.ip, limit: 3/day, by: sliding_log}]\n"
NEW = "version: 1\nrules: [{name: two, key: client.ip, limit: 2/day, by: sliding_log}]\n"
SAID = """\
a.log: 11 lines, LOG, 1 broken
  line 11 is broken: ?[31mbroken
10 requests, 2025-10-09T08:53:20Z to 2025-10-09T08:53:20.009000Z

rules.yaml, version VERSION: 6 let in, 4 refused (40%)

rule  key        may                   asked  refused  share  keys  keys hit
one   client.ip  3/day by sliding_log  10     4        40%    2     2

one hits most, worst at 2025-10-09T08:53:20Z:

key       asked  refused  shadowed
10.0.0.1  5      2        0
10.0.0.2  5      2        0
"""
KNEE = """\

at once  a second  ms each
1        10        100
2        20        100
4        40        100
8        40        200
16       40        400

the knee is at 4 at once (two lines; Kneedle says 4), where one takes 100 ms; at most 40 were served in a second
rules:
  - name: suggested
    concurrent: 4
    mode: shadow
"""  # noqa: E501 - as wide as it is


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log and two rule files where the command runs."""
    monkeypatch.chdir(tmp_path)
    written(Path("a.log"), [Ask(START + at * 1000, f"10.0.0.{at % 2 + 1}") for at in range(10)])
    with Path("a.log").open("a") as log:
        log.write("\x1b[31mbroken\n")
    Path("rules.yaml").write_text(RULES)
    Path("new.yaml").write_text(NEW)


def call(*words: str) -> Result:
    """What the command says."""
    result = CliRunner().invoke(program, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def replayed(*words: str) -> Result:
    """What a replay says."""
    return call("replay", "a.log", "--format", FORMAT, "--rules", "rules.yaml", *words)


def test_people_are_told_what_would_have_been_refused_and_whom_it_hits() -> None:
    result = replayed()

    version = json.loads(replayed("--json").stdout)["rules"]["version"]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == SAID.replace("LOG", FORMAT).replace("VERSION", version)


def test_programs_are_told_all_of_it() -> None:
    said = json.loads(replayed("--against", "new.yaml", "--json").stdout)

    assert (said["requests"], said["rules"]["refused"], said["against"]["refused"]) == (10, 4, 6)
    assert (said["diff"]["only_old"], said["diff"]["only_new"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--fail-over", "40%"], 0, ""),
        (
            ["--fail-over", "0.39"], 1,
            "headgate: 40.0000% of requests are refused, more than 39.0000%\n",
        ),
        (["--against", "new.yaml", "--fail-over", "20%"], 0, ""),
        (
            ["--against", "new.yaml", "--fail-over", "19%"], 1,
            "headgate: 20.0000% of requests are refused, more than 19.0000%\n",
        ),
    ],
)  # fmt: skip
def test_a_pipeline_is_told_by_the_code(words: list[str], code: int, said: str) -> None:
    result = replayed(*words)

    assert (result.exit_code, result.stderr) == (code, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["replay", "gone.log", "--rules", "rules.yaml"],
         "[Errno 2] No such file or directory: 'gone.log'\n"),
        (["replay", "rules.yaml", "--rules", "rules.yaml"],
         "rules.yaml: no format that is known here fits its first lines, the first of which is "
         "'version: 1'; say which it is, or what the server's log_format is, with --format\n"),
        (["replay", "a.log", "--rules", "gone.yaml"],
         "gone.yaml: cannot be read: No such file or directory\n"),
        (["suggest", "--load", "rules.yaml"],
         "rules.yaml: no row has latency (in seconds; latency_ms is in milliseconds), and "
         "concurrency or throughput; its columns are version: 1\n"),
        (["suggest", "a.log", "--format", FORMAT, "--key", "cookie.sid"],
         "key: the log does not have cookie.sid; it has client, request, size, status, time, "
         "x-key\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_ends_with_two(words: list[str], said: str) -> None:
    result = call(*words)

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", said)


def test_what_is_no_share_is_a_mistake() -> None:
    result = replayed("--fail-over", "much")

    assert result.exit_code == 2
    assert '"much" is no share; write one such as 1% or 0.01' in result.stderr


def test_standard_input_is_a_log() -> None:
    words = ["replay", "-", "--format", FORMAT, "--rules", "rules.yaml", "--json"]
    result = CliRunner().invoke(program, words, input=Path("a.log").read_text())

    assert json.loads(result.stdout)["rules"]["refused"] == 4


def test_a_page_without_plotly_is_missed_before_the_log_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose(monkeypatch, "plotly")
    monkeypatch.delitem(sys.modules, "plotly.offline", raising=False)

    result = replayed("--html", "page.html")

    assert (result.exit_code, result.stderr) == (
        2, 'the extra "replay" is not installed; try pip install "headgate[replay]"\n'
    )  # fmt: skip
    assert not Path("page.html").exists()


def test_a_limit_is_suggested_that_is_a_good_rule() -> None:
    result = call("suggest", "a.log", "--format", FORMAT, "--touch", "0", "--json")

    found = json.loads(result.stdout)
    assert found["limits"]["rule"] == {
        "name": "suggested", "key": "client.ip", "limit": "5/min burst 5", "mode": "shadow"
    }  # fmt: skip
    assert (result.exit_code, found["knee"]) == (0, None)


def test_the_knee_of_a_load_test_is_suggested_as_a_limit() -> None:
    Path("load.csv").write_text(
        "concurrency,latency_ms\n1,100\n2,100\n4,100\n8,200\n16,400\n"
    )  # fmt: skip

    result = call("suggest", "--load", "load.csv")

    assert (result.exit_code, result.stdout) == (0, KNEE)


def test_a_load_test_that_found_no_knee_ends_with_one() -> None:
    Path("load.csv").write_text("concurrency,latency_ms\n1,100\n2,100\n4,100\n8,100\n")

    result = call("suggest", "--load", "load.csv")

    assert result.exit_code == 1
    assert result.stdout.endswith("    adaptive: vegas\n    mode: shadow\n")
