"""`headgate alerts`: a table for people, and the same for JSON, Prometheus and Grafana."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

import yaml
from click.testing import CliRunner, Result

from headgate.cli.program import program

RULES = """\
version: 1
rules:
  - {name: api, key: client.ip, limit: 100/min}
"""
WATCHED = f"""{RULES}\
alerts:
  conditions:
    - {{name: many, when: refused, rule: api, above: 30%, after: 1min, calm: 5min}}
    - {{name: open, when: breaker, severity: critical}}
    - {{name: slow, when: latency, above: 2s}}
  notify: {{webhook: [https://hooks.example/T0/B0, {{url: "http://127.0.0.1:9000", token: {{}}}}]}}
""".replace("{}", "a-token-of-some-length")
TABLE = """\
rules.yaml: 3 alerts

alert  when     of           raised          cleared               within  is
many   refused  api          30% after 1min  below 15% after 5min  1min    warning
open   breaker  every rule   at once         at once               -       critical
slow   latency  every route  2s              below 1s              1min    warning

told: the log, as warning, https://hooks.example/***, http://127.0.0.1:9000
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(WATCHED)
    Path("bare.yaml").write_text(RULES)
    Path("bad.yaml").write_text(WATCHED.replace("rule: api", "rule: apo"))


def run(*words: str) -> Result:
    return CliRunner().invoke(program, ["alerts", *words])


def test_a_file_is_told_as_a_table() -> None:
    done = run("rules.yaml")

    assert (done.exit_code, done.output) == (0, TABLE)


def test_in_json_no_secret_is_told() -> None:
    done = run("rules.yaml", "--json")

    said = json.loads(done.output)
    assert said["notify"]["webhook"][1] == {"url": "http://127.0.0.1:9000", "token": "***"}
    assert (said["conditions"][0]["high"], said["conditions"][0]["low"]) == (0.3, 0.15)
    assert "a-token" not in done.output
    assert "B0" not in done.output


def test_without_alerts_it_is_what_is_usual() -> None:
    bare, none = run("bare.yaml"), run()

    usual = "these are usual, with alerts: {}"
    assert bare.output.splitlines()[0] == f"bare.yaml: no alerts, so nobody is told; {usual}"
    assert none.output.splitlines()[0] == "these are usual"
    assert bare.output.splitlines()[2:] == none.output.splitlines()[2:]


def test_prometheus_is_told_where_the_runbooks_are() -> None:
    done = run("rules.yaml", "--prometheus", "--runbooks", "https://wiki.example/r")

    (group,) = yaml.safe_load(done.output)["groups"]
    links = [one["annotations"]["runbook_url"] for one in group["rules"]]
    assert links == [f"https://wiki.example/r#{kind}" for kind in ("refused", "breaker", "latency")]


def test_grafana_is_told_the_names() -> None:
    done = run("rules.yaml", "--grafana")

    assert 'ALERTS{alertname=~\\"many|open|slow\\"' in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("bad.yaml",),
            'bad.yaml:6:41: alerts.conditions[0].rule: there is no rule "apo"; did you',
        ),
        (("none.yaml",), "none.yaml: cannot be read: No such file or directory"),
        (
            ("--runbooks", "wiki.example", "--prometheus"),
            "headgate: --runbooks is an address such as https://wiki.example/runbooks; write https",
        ),
    ],
)
def test_what_is_broken_ends_with_2(words: tuple[str, ...], said: str) -> None:
    done = run(*words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
