"""`headgate explain`: why a request gets its answer, or got it, in lines that one can check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from click.testing import CliRunner, Result

from headgate.cli.program import program
from headgate.rules import Rules
from tests.servers.launch import Server

RULES = """\
version: 1
client: {trusted_proxies: [10.0.0.0/8]}
rules:
  - name: login
    match: {method: POST, path: /login}
    key: client.ip
    limit: 2/min
    by: sliding_log

  - name: api
    match: {path: /v1/**}
    key: header.x-api-key
    limit: [20/s burst 40, 10000/day]
"""
LINE = {
    "time": "2026-11-18T02:59:24+00:00", "decision": "a0afa70307000001", "rule": "login",
    "kind": "limit", "status": 429, "client": "203.0.113.7", "method": "POST", "host": "a.test",
    "path": "/login", "retry_after": 12.5, "reason": "limit", "policy": "login",
    "key_source": "client.ip", "key": "203.0.113.7", "terms": "", "full": "", "cost": 1,
    "limit": 2, "remaining": 0, "reset": 60.0, "degraded": False, "waited": 0.0, "shadowed": [],
    "store": "shared://web",
}  # fmt: skip
REFUSED = """\
POST /login: refused with 429 by the rule "login"
FILE, version VERSION, counted in memory:// of this command's own, where nobody has asked before

client
  10.0.0.3 (the connection)  is a proxy: trusted_proxies has 10.0.0.0/8
  203.0.113.7 (x-forwarded-for)  is no proxy that trusted_proxies names: the client
  1.1.1.1 (x-forwarded-for)  is hearsay, and is not looked at
  203.0.113.7  is what counts together as one client

rules
  login  refused: it costs 1, and 0 of 2 are left; it would fit in 60 s
      key 203.0.113.7, of client.ip = 203.0.113.7
      terms 2/min by sliding_log
      cost 1; login: 0 before, 0 after
  api  path is /login, not /v1/**

answer
  status 429
  content-type: application/problem+json
  content-length: 216
  cache-control: no-store
  retry-after: 60
  ratelimit-policy: "login";q=2;w=60
  ratelimit: "login";r=0;t=60

  {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",\
"title":"Quota Exceeded","status":429,"detail":"Policy \\"login\\" is exceeded. Retry in 60 s.",\
"violated-policies":["login"],"retry_after":60.0}
"""
TOLD = """\

2026-11-18T02:59:24+00:00 a0afa70307000001
  POST a.test/login from 203.0.113.7 was refused by the rule "login", with 429.
  By its limit "login" it costs 1, and 0 of 2 are left; it would fit in 12.5 s.
  It counts by client.ip; here that is 203.0.113.7.
  If this key keeps quiet, it has all of it again after 60 s.
  It is counted in shared://web, by the clock of this machine.
  The rules are still of version VERSION.
  It stands in FILE:4:
    - name: login
      match: {method: POST, path: /login}
      key: client.ip
      limit: 2/min
      by: sliding_log
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return file


@pytest.fixture
def audit(tmp_path: Path, rules: Path) -> Path:
    file = tmp_path / "refused.log"
    line = {**LINE, "version": Rules.load(rules).digest}
    other = {**line, "decision": "a0afa70307000002"}
    file.write_text(f"# a word of somebody else\n{json.dumps(line)}\n{json.dumps(other)}\n")
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["explain", *map(str, arguments)])


def shown(text: str, file: Path) -> str:
    return text.replace("FILE", str(file)).replace("VERSION", Rules.load(file).digest)


def test_nobody_waits_in_earnest_to_be_told_of_a_wait(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules: [{name: slow, limit: 1/h burst 1, over: wait 2h}]\n")

    result = run(file, "/", "--times", "2")

    assert (result.exit_code, result.output.splitlines()[0]) == (0, "GET /: goes in after 3600 s")


def test_a_refusal_is_told_in_full(rules: Path) -> None:
    forged = ("-H", "X-Forwarded-For: 1.1.1.1, 203.0.113.7", "--peer", "10.0.0.3")
    at = ("--at", "2026-11-18T12:00:00Z", "--times", "3")
    result = run(rules, "POST /login", *forged, *at)

    assert (result.exit_code, result.output) == (1, shown(REFUSED, rules))


def test_who_goes_in_is_told_what_is_left(rules: Path) -> None:
    result = run(rules, "/v1/things?x=1", "-H", "X-Api-Key: ada", "--json")
    told = json.loads(result.output)

    assert result.exit_code == 0
    assert (told["outcome"], told["rule"], told["status"]) == ("allowed", "", 0)
    assert dict(told["headers"])["ratelimit"].startswith('"api:1";r=39')
    assert [
        (one["rule"], one["outcome"], one["before"], one["after"]) for one in told["opinions"]
    ] == [
        ("login", "unmet", None, None),
        ("api", "allowed", 40, 39),
    ]
    assert told["opinions"][1]["source"] == [["header.x-api-key", "ada"]]


def test_a_decision_is_found_by_its_name(rules: Path, audit: Path) -> None:
    result = run("--audit", audit, "--decision", "a0afa70307000001", rules)

    assert (result.exit_code, result.output) == (0, shown(TOLD, rules))


def test_all_decisions_of_a_log_are_told(audit: Path) -> None:
    told = json.loads(run("--audit", audit, "--all", "--json").output)

    assert [one["decision"] for one in told] == ["a0afa70307000001", "a0afa70307000002"]
    assert told[0]["numbers"] == {
        "cost": 1, "limit": 2, "remaining": 0, "reset": 60.0, "retry_after": 12.5, "waited": 0.0,
    }  # fmt: skip


def test_what_is_not_there_is_said(audit: Path) -> None:
    result = run("--audit", audit, "--decision", "b")

    assert (result.exit_code, result.output) == (
        1,
        f'{audit} has no decision "b"; nothing can be told of lines that were left out\n',
    )


def test_a_store_of_others_is_only_looked_at(rules: Path, valkey: Server) -> None:
    results = [run(rules, "POST /login", "--store", valkey.patient) for _ in range(2)]
    spent = run(rules, "POST /login", "--store", valkey.patient, "--spend")
    after = run(rules, "POST /login", "--store", valkey.patient, "--json")

    assert [result.exit_code for result in results] == [0, 0]
    assert results[1].output.splitlines()[1].endswith(f"{valkey.url}?***, and only looked at")
    assert spent.output.splitlines()[1].endswith(f"{valkey.url}?***, and counted")
    assert json.loads(after.output)["opinions"][0]["before"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{file}"], 'say a file and a request, such as rules.yaml "POST /login"'),
        (["{file}", "login"], '"login" is no route; write one such as "POST /login"'),
        (["{file}", "/", "-H", "x"], '"x" is no header; write one such as "X-Api-Key: ada"'),
        (["{file}", "/", "--all"], "say with --audit in which log the refusals stand"),
        (["--audit", "x"], "say which refusal: --decision ID, or --all"),
        (["{file}", "/", "--audit", "x", "--all"],
         "--audit is about refusals that were; leave the request out"),
        (["{file}", "/", "--client", "me"], '--client is an address such as 203.0.113.7, not "me"'),
        (["{file}", "/", "--peer", "me"], '--peer is an address such as 10.0.0.1, not "me"'),
        (["{file}", "/", "--at", "noon"],
         '--at is a time such as 2026-11-18T12:00:00Z, not "noon"'),
        (["{file}", "/", "--at", "2026-11-18", "--store", "shared://explained"],
         "--at is for what is counted in memory://; elsewhere it is now"),
        (["{file}", "/", "--times", "2", "--store", "shared://explained"],
         "--times counts requests, and others count in shared://explained; say --spend too"),
        (["--audit", "/nowhere", "--all"], "/nowhere: [Errno 2] No such file or directory: "
         "'/nowhere'"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(arguments: list[str], said: str, rules: Path) -> None:
    result = run(*[one.replace("{file}", str(rules)) for one in arguments])

    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith(said)
