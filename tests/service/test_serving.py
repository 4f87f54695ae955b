"""`headgate serve` as a whole: its ports, its rules, its workers, and its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("httptools")
pytest.importorskip("hpack")
pytest.importorskip("grpc")
pytest.importorskip("redis")

import grpc
import redis
from click.testing import CliRunner

from headgate.cli.program import program
from headgate.service.rls.messages import OVER_LIMIT, Request, Response
from tests.servers.waiting import until
from tests.workers.process import TOKEN, Process, refused
from tests.workers.spare import SpareProcesses

RULES = f"""\
version: 1
rules:
  - {{name: api, key: header.user, limit: 5/h, by: sliding_log}}
  - {{name: five, key: header.user, concurrent: 2}}
service:
  listen: ["http://127.0.0.1:0", "grpc://127.0.0.1:0", "resp://127.0.0.1:0", "spop://127.0.0.1:0"]
  admin: {{listen: "127.0.0.1:0", token: {TOKEN}}}
  timeouts: {{drain: 5s}}
"""
DOMAINS = """\
domain: web
descriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 1}}]
"""
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


@pytest.fixture(scope="module")
def service() -> Iterator[Process]:
    """A service of two workers, who count together."""
    with Process(RULES, "--workers", "2", command="serve") as found:
        yield found


@pytest.fixture(scope="module")
def spare_processes() -> Iterator[SpareProcesses]:
    with SpareProcesses() as spare:
        yield spare


@pytest.fixture
def single(spare_processes: SpareProcesses) -> Iterator[Process]:
    """One of one worker, that may be ended. Only its rules are certain to be as at first."""

    def start() -> Process:
        return Process(RULES, "--watch", "0", command="serve")

    with spare_processes.lend("single", start) as found:
        yield found


def test_all_protocols_and_all_workers_count_together(service: Process) -> None:
    allowed = [
        take(service, "all")[1]["allowed"],
        call(service, "all").overall_code != OVER_LIMIT,
        bool(say(service, "HG.TAKE", "api", "all")[0]),
        take(service, "all")[1]["allowed"],
        call(service, "all").overall_code != OVER_LIMIT,
    ]
    refused = [
        take(service, "all")[0],
        call(service, "all").overall_code,
        say(service, "HG.TAKE", "api", "all")[0],
    ]

    assert allowed == [True] * 5
    assert refused == [429, OVER_LIMIT, 0]


def test_what_one_worker_lends_another_takes_back(service: Process) -> None:
    held = [post(service, "hold", rule="five", key="lent") for _ in range(3)]
    assert [status for status, _ in held] == [200, 200, 429]

    # Each over a connection of its own, so now and then at another worker.
    released = [post(service, "release", id=held[0][1]["id"])[0] for _ in range(2)]

    assert released == [204, 410]
    assert post(service, "hold", rule="five", key="lent")[0] == 200


def test_it_says_what_is_there_and_ends_well() -> None:
    with Process(RULES, "--store", "memory://", command="serve") as one:
        ports = one.ports
        said = one.log.splitlines()
        one.signal(signal.SIGTERM)
        assert one.end() == 0

    version = said[4].rpartition(" ")[2]
    assert said == [
        *(f"listening on {speaks}://127.0.0.1:{ports[speaks]}" for speaks in PORTS),
        f"rules.yaml: 2 rules, version {version}",
        "1 worker, counting in memory://",
        f"admin on http://127.0.0.1:{one.admin}",
    ]


def test_new_rules_hold_on_every_port_at_once(single: Process) -> None:
    channel = grpc.insecure_channel(f"127.0.0.1:{single.ports['grpc']}")
    with channel:
        ask = channel.unary_unary(METHOD)
        before = Response.FromString(ask(asked("new"))).statuses[0].current_limit
        single.rules.write_text(RULES.replace("5/h", "7/min"))

        assert single.ask("POST /reload").status == 200

        after = Response.FromString(ask(asked("new"))).statuses[0].current_limit
        assert [before.requests_per_unit, after.requests_per_unit] == [5, 7]
        assert say(single, "HG.PEEK", "api", "new")[1] == 7
    assert take(single, "new")[1]["limit"] == 7


def test_bad_rules_and_bad_files_change_nothing(single: Process) -> None:
    single.rules.write_text(RULES.replace("5/h", "5/sex"))
    rules = single.ask("POST /reload")
    single.rules.write_text(f"{RULES}  ratelimit: {single.folder}/none.yaml\n")
    file = single.ask("POST /reload")

    assert (rules.status, file.status) == (422, 422)
    assert "unknown unit" in rules.body["problems"][0]
    assert "none.yaml: cannot be read" in file.body["problems"][0]
    assert take(single, "still")[1]["limit"] == 5


def test_a_file_of_domains_counts_as_it_says(single: Process) -> None:
    (single.folder / "web.yaml").write_text(DOMAINS)
    single.rules.write_text(f"{RULES}  ratelimit: {single.folder}/web.yaml\n")
    assert single.ask("POST /reload").status == 200

    answers = [call(single, "once") for _ in range(2)]

    assert [answer.overall_code for answer in answers] == [1, OVER_LIMIT]
    assert answers[0].statuses[0].current_limit.requests_per_unit == 1


def test_a_file_of_domains_is_read_again_where_the_rules_are_as_they_were(single: Process) -> None:
    file = single.folder / "web.yaml"
    file.write_text(DOMAINS)
    single.rules.write_text(f"{RULES}  ratelimit: {file}\n")
    assert single.ask("POST /reload").status == 200

    limits = []
    more = DOMAINS.replace("unit: 1", "unit: 7")
    for text, status in [(DOMAINS, 200), (f"{DOMAINS}: 8", 422), (more, 200)]:
        file.write_text(text)
        assert single.ask("POST /reload").status == status
        limits.append(call(single, "again").statuses[0].current_limit.requests_per_unit)

    assert limits == [1, 1, 7]


def test_who_is_connected_is_told_when_it_ends(single: Process) -> None:
    line = http.client.HTTPConnection("127.0.0.1", single.ports["http"], timeout=10)
    with closing(line):
        assert ask(line, "GET", "/ready")[0] == 200
    # Somebody is in the middle of a request.
    other = socket.create_connection(("127.0.0.1", single.ports["http"]), 10)
    body = json.dumps({"rule": "api", "key": "late"}).encode()
    head = f"POST /v1/take HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}\r\n"
    other.sendall(f"{head}content-type: application/json\r\n\r\n".encode())
    until(lambda: single.ask("GET /status").body["connections"] >= 1, "it to be there")

    single.signal(signal.SIGTERM)
    # The master says so before its worker knows.
    until(lambda: refused(single.ports["http"]), "it to drain")
    other.sendall(body)

    with other:
        answer = b"".join(iter(lambda: other.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer
    assert single.end() == 0


def test_a_worker_that_falls_is_replaced_and_nothing_is_forgotten(service: Process) -> None:
    for _ in range(5):
        take(service, "fallen")
    before = {worker["pid"] for worker in service.workers}
    for pid in before:
        signal_to(pid)

    until(lambda: not before & {worker.get("pid") for worker in service.workers}, "others")
    until(lambda: service.ask("GET /health").status == 200, "them to be up")

    status, _ = until(lambda: reached(service, "fallen"), "an answer")
    assert status == 429


def test_a_new_master_takes_over_the_ports(single: Process) -> None:
    before = take(single, "heir")[0]
    ports = single.ports
    single.succeed()

    assert before == 200
    assert {**single.ports} == ports
    assert take(single, "heir")[0] == 200


def test_what_was_lent_is_taken_back_by_those_of_a_new_master(service: Process) -> None:
    held = post(service, "hold", rule="five", key="heir")[1]["id"]
    booked = post(service, "reserve", rule="api", key="heir", cost=2)[1]["id"]

    service.succeed()

    assert post(service, "release", id=held)[0] == 204
    assert post(service, "cancel", id=booked)[1]["remaining"] == 5


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("127.0.0.1:80", "say what is spoken there, as in http://127.0.0.1:80"),
        ("redis://:80", "there are http, grpc, resp, spop; write resp://:80"),
        ("https://:80", "write http://:80, with tls beside it"),
        ("gprc://:80", "there are http, grpc, resp, spop; did you mean grpc?"),
    ],
)
def test_where_one_cannot_listen_is_said(said: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)

    found = CliRunner().invoke(program, ["serve", str(file), "--listen", said])

    assert found.exit_code == 2
    assert f'"{said}": {problem}' in found.output


PORTS = ("http", "grpc", "resp", "spop")


def take(service: Process, key: str) -> tuple[int, Any]:
    """What is answered over HTTP, on a connection of its own."""
    return post(service, "take", rule="api", key=key)


def reached(service: Process, key: str) -> tuple[int, Any] | None:
    """The same, or None where nobody answers."""
    try:
        return take(service, key)
    except (OSError, http.client.HTTPException):
        return None


def post(service: Process, verb: str, **said: Any) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", service.ports["http"], 10)) as line:
        return ask(line, "POST", f"/v1/{verb}", said)


def ask(line: http.client.HTTPConnection, method: str, path: str, said: Any = None) -> Any:
    body = None if said is None else json.dumps(said)
    line.request(method, path, body, {"content-type": "application/json"} if body else {})
    answer = line.getresponse()
    data = answer.read()
    return answer.status, json.loads(data) if data.startswith(b"{") else data


def asked(user: str) -> bytes:
    """A call of one descriptor."""
    request = Request(domain="web")
    entry = request.descriptors.add().entries.add()
    entry.key, entry.value = "user", user
    return bytes(request.SerializeToString())


def call(service: Process, user: str) -> Any:
    """What is answered over gRPC, on a connection of its own."""
    with grpc.insecure_channel(f"127.0.0.1:{service.ports['grpc']}") as channel:
        return Response.FromString(channel.unary_unary(METHOD)(asked(user), timeout=10))


def say(service: Process, *words: str) -> Any:
    """What is answered to a client of Redis, on a connection of its own."""
    with redis.Redis(port=service.ports["resp"]) as client:
        return client.execute_command(*words)


def signal_to(pid: int) -> None:
    """End a process on the spot."""
    os.kill(pid, signal.SIGKILL)
