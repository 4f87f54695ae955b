"""`headgate check`: a table for what is good, the place of what is not, and codes for scripts."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from click.testing import CliRunner, Result

import headgate
from headgate.cli.program import program

GOOD = """\
version: 1
store: redis://me:hunter2@cache.example/1
client: {trusted_proxies: [10.0.0.0/8]}
rules:
  - name: banned
    match: {client.ip: [203.0.113.0/24]}
    deny: true
  - name: login
    match: {method: POST, path: /login}
    key: client.ip
    limit: 5/min
    by: sliding_log
  - name: api
    match: {path: [/v1/**, /v2/**], not: {method: OPTIONS}}
    when: size > 10
    key: [header.x-user, client.ip]
    limit: [20/s burst 40, {rate: 10000/day, by: gcra}]
    over: {degrade: {status: 200, body: later}}
    mode: shadow
  - name: all
    concurrent: 50
    bandwidth: 1MB/s
    over: wait 2s
    key: user
    rollout: 25%
"""
TABLE = """\
rule    meets                     key                       may                   over            mode
banned  client.ip 203.0.113.0/24  -                         nothing (403)         -               enforce
login   POST /login               client.ip                 5/min by sliding_log  reject          enforce
api     /v1/** /v2/**             header.x-user, client.ip  20/s burst 40         degrade (body)  shadow
        not method OPTIONS                                  10000/day by gcra
        when size > 10
all     all                       user                      50 at once            wait 2s         enforce for 25%
                                                            1MB/s of the answer
"""  # noqa: E501 - as wide as it is
FULL = """\
version: 1
store: redis://cache.example/1
client: {trusted_proxies: [10.0.0.0/8]}
plans:
  vip: unlimited
  free: {api: 5/s burst 10, login: {limit: [4/min, {rate: 9/h, by: gcra}]}, files: 1KB/s}
rules:
  - name: login
    match: {method: POST, path: /login}
    key: client.ip
    limit: 5/min
    by: sliding_log
    counts: {status: [401, 4xx]}
    overrides:
      192.0.2.1: unlimited
      192.0.2.2: 9/min
      192.0.2.3: {rate: 8/min, by: gcra}
      192.0.2.4: 7/min
      192.0.2.5: 6/min
  - name: api
    group: g
    match: {path: /v1/**}
    key: header.x-user
    empty_key: share
    limit:
      - {rate: 1000/day, by: fixed_window, calendar: day, zone: Europe/Paris}
      - {rate: 9000/30day, by: fixed_window, calendar: month}
      - {rate: 9/s, burst: 20, initial: 0, borrow: true}
    cost:
      - {path: /v1/search, units: 5}
      - {method: POST, by: body, per: 1KB, most: 100}
      - {units: 2, by: header.x-items, most: 50}
      - 3
    when_unavailable: deny
  - name: files
    group: g
    match: {path: /**}
    key: user
    bandwidth: 100KB/s
    concurrent: 5
    overrides: {root: {concurrent: 50, bandwidth: 1MB/s}}
"""
FULLY = """\
rule   meets             key             may
login  POST /login       client.ip       5/min by sliding_log
                                         counts only 401 or 4xx
                                         key 192.0.2.1: unlimited
                                         key 192.0.2.2: 9/min
                                         key 192.0.2.3: 8/min by gcra
                                         and 2 more
                                         plan vip: unlimited
                                         plan free: 4/min and 9/h by gcra
api    /v1/**            header.x-user   1000 a calendar day in Europe/Paris
       first of group g  without: share  9000 a calendar month
                                         9/s burst 20 (initial 0, borrow true)
                                         costs 5 for /v1/search
                                         costs body / 1000 up to 100 for POST
                                         costs 2 x header.x-items up to 50
                                         costs 3
                                         plan vip: unlimited
                                         plan free: 5/s burst 10
                                         without store: deny
files  /**               user            5 at once
       first of group g                  100KB/s of the answer
                                         key root: 50 at once and 1MB/s of the answer
                                         plan vip: unlimited
                                         plan free: 1KB/s
"""
FORWARDING = """\
version: 1
gateway:
  listen: [127.0.0.1:8080, {address: ":443", tls: {certificate: a.pem, key: a.key}}]
  workers: 2
  admin: {listen: 127.0.0.1:9901, token: hunter2-hunter2-hunter2}
  upstreams:
    shop:
      servers: [http://10.0.0.1, http://10.0.0.2, http://10.0.0.3, http://10.0.0.4]
      balance: hash
      key: client.ip
      health: /healthz
  routes:
    - name: api
      match: {path: /api/**, method: GET}
      upstream: shop
      host: shop.example
      path: {strip: /api, add: /v2}
      timeouts: {answer: 5s}
      retries: 0
      upgrade: false
    - upstream: http://127.0.0.1:9000
rules:
  - {name: all, limit: 5/s}
"""
FORWARDED = """\
route  forwards     to                     how
api    GET /api/**  shop:                  host shop.example
                    http://10.0.0.1        path /api/... becomes /v2/...
                    http://10.0.0.2        answer 5s
                    http://10.0.0.3        retries 0
                    and 1 more             no upgrades
                                           hash of client.ip
                                           health /healthz every 5s
       all          http://127.0.0.1:9000
"""
BAD = """\
version: 1
store: redis://me:hunter2@host/zero
rules:
  - name: login
    limit: 5/sex
    over: {redirect: "https://a:hunter2@example.com/ busy"}
"""
TRACE = """\
rules.yaml:2:8: store: is an address such as memory://, shared://web or redis://host, not \
"redis://***@host/zero"; 'zero' is not a number; ports and databases are
  store: redis://***@host/zero
         ^
rules.yaml:5:12: rules[0].limit: rate "5/sex": unknown unit "sex" at column 3; try s, min, h or day
      limit: 5/sex
             ^
rules.yaml:6:22: rules[0].over.redirect.to: is /a/path or an http address, not \
"https://***@example.com/ busy"
      over: {redirect: "https://***@example.com/ busy"}
                       ^
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(text: str | bytes, *options: str) -> Result:
    """What the command says of a file with that text."""
    Path("rules.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    result = CliRunner().invoke(program, ["check", "rules.yaml", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def rows(text: str) -> list[list[str]]:
    """The cells of a table whose columns are two blanks apart."""
    lines = [line for line in text.splitlines() if line]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_good_rules_are_told_in_a_table() -> None:
    result = check(GOOD)

    head, table, _ = result.stdout.split("\n\n")
    assert result.exit_code == 0
    assert head.startswith("rules.yaml: 4 rules, version ")
    assert head.endswith(", kept in redis://***@cache.example/1")
    assert f"{table}\n" == TABLE


def test_all_that_a_rule_does_is_told_and_columns_that_say_nothing_are_not() -> None:
    result = check(FULL)

    assert result.exit_code == 0
    assert f"{result.stdout.split(2 * chr(10))[1]}\n" == FULLY


def test_a_gateway_is_told_where_it_listens_and_what_goes_where() -> None:
    result = check(FORWARDING)

    head, _, table, ways = result.stdout.split("\n\n")
    assert result.exit_code == 0
    assert head.splitlines()[1] == (
        "the gateway listens on 127.0.0.1:8080 and :443 (tls), 2 workers, admin on 127.0.0.1:9901"
    )
    assert f"{table}\n" == FORWARDED
    assert rows(ways) == [["route", "rules"], ["GET /api/**", "all"]]


def test_a_plain_gateway_is_told_in_few_words() -> None:
    text = "{version: 1, gateway: {routes: [{upstream: http://a}]}, rules: [{name: b, limit: 5/s}]}"
    head, _, table = check(text).stdout.split("\n\n")

    assert head.splitlines()[1] == "the gateway listens on 127.0.0.1:8080"
    assert rows(table) == [["forwards", "to"], ["all", "http://a"]]


def test_a_gateway_in_json_is_as_the_file_spells_it_without_its_token() -> None:
    told = json.loads(check(FORWARDING, "--json").stdout)

    assert told["gateway"]["admin"] == {"listen": "127.0.0.1:9901", "token": "***"}
    assert told["gateway"]["routes"][1] == {"upstream": "http://127.0.0.1:9000"}
    assert json.loads(check(GOOD, "--json").stdout)["gateway"] is None


@pytest.mark.parametrize(
    "token", ["token: hunter2", "token: 'hunter2'", '"token": "hunt\\"er2"', "token:  hunter2 "]
)
@pytest.mark.parametrize("other", ["listen: 127.0.0.1:1", "listen: 10.0.0.1:1", "lissen: x"])
def test_no_line_that_is_shown_tells_a_token(token: str, other: str) -> None:
    result = check(f"version: 1\ngateway: {{admin: {{{token}, {other}}}}}\n")

    assert result.exit_code == 2
    assert "er2" not in result.stderr
    assert "***" in result.stderr


@pytest.mark.parametrize(
    "section",
    [
        "budget: {limit: 9/s, grant: 1, keys: [hunter2, 'hunter2'], lissen: x}",
        "budget: {limit: 9/s, grant: 1, keys: hunter2}",
        "budget:\n  limit: 9/s\n  grant: 1\n  keys:\n    - hunter2",
        "service: {secret: hunter2, lissen: x}",
        "service:\n  callers:\n    shop:\n      token:\n        - hunter2",
    ],
)
def test_no_line_that_is_shown_tells_a_secret(section: str) -> None:
    result = check(f"version: 1\n{section}\n")

    assert result.exit_code == 2
    assert "hunter2" not in result.stderr


DOMAINS = """
domain: edge
descriptors:
  - {key: path, rate_limit: {unit: fortnight, requests_per_unit: 2}}
"""


def test_files_that_rules_name_are_looked_at_as_well() -> None:
    Path("edge.yaml").write_text(DOMAINS)
    naming = "version: 1\nservice: {ratelimit: {files: [edge.yaml]}}\n"
    result, told = check(naming), json.loads(check(naming, "--json").stdout)

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "edge.yaml:4:36: descriptors[0].rate_limit.unit: is second, minute, hour, day, week, month "
        'or year, not "fortnight"',
        "    - {key: path, rate_limit: {unit: fortnight, requests_per_unit: 2}}",
        f"  {' ' * 35}^",
    ]
    assert (told["problems"][0]["file"], told["problems"][0]["line"]) == ("edge.yaml", 4)
    Path("edge.yaml").write_text(DOMAINS.replace("fortnight", "week"))
    assert check(naming).exit_code == 0


def test_usual_rules_fit_into_a_terminal_of_80_columns() -> None:
    rules = """\
version: 1
rules:
  - {name: banned, match: {client.ip: 203.0.113.0/24}, deny: true}
  - {name: login, match: {method: POST, path: /login}, key: client.ip, limit: 5/min, by: sliding_log}
  - {name: api, match: {path: /v1/**}, key: header.x-api-key, limit: [20/s burst 40, 10000/day]}
"""  # noqa: E501 - a rule in a line

    lines = check(rules).stdout.partition("\nwarning: ")[0].splitlines()

    assert max(map(len, lines)) <= 80


def test_the_routes_that_rules_name_are_told_with_the_rules_they_meet() -> None:
    result = check(GOOD)

    also = "api (if not method OPTIONS, size > 10)"
    assert rows(result.stdout.split("\n\n")[2]) == [
        ["route", "rules"],
        ["POST /login", "banned (if client.ip 203.0.113.0/24), login, all"],
        ["any /v1/**", f"banned (if client.ip 203.0.113.0/24), {also}, all"],
        ["any /v2/**", f"banned (if client.ip 203.0.113.0/24), {also}, all"],
    ]


def test_a_route_of_any_method_meets_the_rules_of_one_perhaps() -> None:
    rules = """\
version: 1
rules:
  - {name: a, group: g, match: {path: /a, method: POST}, limit: 5/s}
  - {name: b, group: g, match: {path: /a}, limit: 6/s}
"""

    assert rows(check(rules).stdout)[-2:] == [
        ["POST /a", "a"],
        ["any /a", "a (if method POST), b"],
    ]


def test_the_routes_that_are_asked_for_are_told_instead() -> None:
    result = check(GOOD, "--route", "options /v1/x", "--route", "/login", "--route", "POST /login")

    assert rows(result.stdout.split("\n\n")[2])[1:] == [
        ["OPTIONS /v1/x", "banned (if client.ip 203.0.113.0/24), all"],
        ["GET /login", "banned (if client.ip 203.0.113.0/24), all"],
        ["POST /login", "banned (if client.ip 203.0.113.0/24), login, all"],
    ]


def test_a_route_that_meets_no_rule() -> None:
    rules = "{version: 1, rules: [{name: a, match: {path: /a}, limit: 5/s}]}"

    assert rows(check(rules, "--route", "GET /b").stdout)[-1] == ["GET /b", "none"]


def test_of_a_group_only_those_that_may_count_are_told() -> None:
    rules = """\
version: 1
rules:
  - {name: a, group: g, match: {path: /a, header.x: "1"}, limit: 5/s}
  - {name: b, group: g, match: {path: /a}, limit: 6/s}
  - {name: c, group: g, match: {path: /**}, limit: 7/s}
"""

    assert rows(check(rules, "--route", "GET /a").stdout)[-1] == ["GET /a", "a (if header.x 1), b"]


@pytest.mark.parametrize("route", ["login", "POST login", "GET /a b /c d", "4 /a", ""])
def test_a_route_that_is_none(route: str) -> None:
    result = check(GOOD, "--route", route)

    assert result.exit_code == 2
    assert f'"{route}" is no route; write one such as "POST /login"' in result.stderr


def test_broken_rules_are_told_by_line_with_a_mark_and_no_secret() -> None:
    result = check(BAD)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == TRACE


def test_all_of_it_in_json() -> None:
    result = check(GOOD, "--json", "--route", "POST /login")
    told = json.loads(result.stdout)

    assert result.exit_code == 0
    assert (told["file"], told["good"], told["warnings"]) == ("rules.yaml", True, [])
    assert told["store"] == "redis://***@cache.example/1"
    assert told["rules"][1] == {
        "rule": "login",
        "meets": "POST /login",
        "key": "client.ip",
        "may": {"limit": [{"rate": "5/min", "by": "sliding_log"}]},
        "over": "reject",
        "mode": "enforce",
        "group": "",
        "when_unavailable": "local",
    }
    assert told["rules"][0]["may"] == {"deny": True}
    assert told["rules"][3]["may"] == {"concurrent": 50, "bandwidth": "1MB/s"}
    assert [one["rule"] for one in told["routes"][0]["rules"]] == ["banned", "login", "all"]


def test_limits_in_json_are_objects() -> None:
    login, api, files = json.loads(check(FULL, "--json").stdout)["rules"]

    assert api["may"] == {
        "limit": [
            {"rate": "1000/day", "by": "fixed_window", "calendar": "day", "zone": "Europe/Paris"},
            {"rate": "9000 per 30day", "by": "fixed_window", "calendar": "month"},
            {"rate": "9/s", "by": "token_bucket", "burst": 20, "initial": 0, "borrow": True},
        ],
        "cost": [
            {"path": "/v1/search", "units": 5},
            {"method": "POST", "by": "body", "per": 1000, "most": 100},
            {"units": 2, "by": "header.x-items", "most": 50},
            3,
        ],
        "plans": {
            "vip": "unlimited",
            "free": {"limit": [{"rate": "5/s burst 10", "by": "token_bucket"}]},
        },
    }
    assert (api["group"], api["when_unavailable"]) == ("g", "deny")
    assert login["may"]["counts"] == {"status": [401, "4xx"]}
    assert login["may"]["overrides"]["192.0.2.3"] == {"limit": [{"rate": "8/min", "by": "gcra"}]}
    assert files["may"]["overrides"] == {"root": {"concurrent": 50, "bandwidth": "1MB/s"}}


def test_what_is_broken_in_json() -> None:
    result = check(BAD, "--json")
    told = json.loads(result.stdout)

    assert result.exit_code == 2
    assert told["good"] is False
    assert told["problems"][1] == {
        "message": 'rate "5/sex": unknown unit "sex" at column 3; try s, min, h or day',
        "file": "rules.yaml",
        "path": "rules[0].limit",
        "line": 5,
        "column": 12,
    }
    assert "hunter2" not in result.stdout


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1), (("--json",), 0)])
def test_warnings_are_told_and_fail_only_who_is_strict(options: tuple[str, ...], code: int) -> None:
    result = check("version: 1\nrules:\n  - name: a\n    deny: true\n", *options)

    assert result.exit_code == code
    if "--json" not in options:
        assert result.stdout.splitlines()[-3:] == [
            "warning: rules.yaml:4:11: rules[0].deny: lets nobody in at all, for the rule has no "
            "match; say whom it is about",
            "      deny: true",
            "            ^",
        ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.yaml", "none.yaml: cannot be read: No such file or directory\n"),
        (
            "rules.ini",
            "rules.ini: the name tells no format; let it end in .yaml, .yml, .json or .toml\n",
        ),
    ],
)
def test_a_file_that_cannot_be_read(name: str, said: str) -> None:
    result = CliRunner().invoke(program, ["check", name])

    assert (result.exit_code, result.stderr) == (2, said)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("version: 1\nstore: \x1b[2Jx\n", ["  store: ?[2Jx", "         ^"]),
        ("version: 1\nstore:\t2\n", ["  store: 2", "        ^"]),
        (b"version: 1\nstore: \xff\xfe\n", ["  store: \ufffd\ufffd", "         ^"]),
    ],
)
def test_no_line_moves_the_cursor(text: Any, shown: list[str]) -> None:
    result = check(text)

    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert result.stderr.splitlines()[-2:] == shown


def test_of_a_long_line_what_is_around_the_place_is_shown() -> None:
    plans = ", ".join(f"plan-{number}: unlimited" for number in range(40))
    result = check(f"{{version: 1, plans: {{{plans}, bad: 7, {plans.replace('-', '_')}}}}}")

    _, line, mark = result.stderr.splitlines()
    assert result.exit_code == 2
    assert line.startswith("  ...")
    assert line[mark.index("^")] == "7"
    assert len(line) <= 105


def test_names_of_plans_and_values_cannot_speak_to_the_terminal() -> None:
    rules = 'version: 1\nrules:\n  - {name: a, match: {header.x: "\\e[2J"}, limit: 5/s}\n'

    assert "\x1b" not in check(rules).stdout


@pytest.mark.parametrize("uncoloured", [True, False])
def test_colours_are_for_who_looks_on_and_wants_them(uncoloured: bool) -> None:
    Path("rules.yaml").write_text(GOOD)
    source = str(Path(headgate.__file__).parents[1])
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "PYTHONPATH": source}
    environment.pop("NO_COLOR", None)

    written = seen({**environment, "NO_COLOR": "1"} if uncoloured else environment)

    assert ("\x1b[" in written) is not uncoloured
    assert "sliding_log" in written


def seen(environment: dict[str, str]) -> str:
    """What somebody at a terminal sees."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "headgate.cli", "check", "rules.yaml"]
    with subprocess.Popen(command, stdout=terminal, env=environment) as process:
        os.close(terminal)
        written = b""
        try:
            while piece := os.read(screen, 65536):
                written += piece
        except OSError:
            pass  # A terminal whose other end is closed cannot be read.
        os.close(screen)
    assert process.returncode == 0
    return written.decode()
