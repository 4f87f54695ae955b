"""What the admin has workers do about a rule is done in all of them, and a trial outlives them."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.talking import Talk
from tests.servers.waiting import until
from tests.workers.process import TOKEN, Process, reply
from tests.workers.service import Service

GATEWAY = """\
version: 1
rules:
  - {{name: few, match: {{path: /few}}, key: header.x-user, limit: [3/h, 100/day]}}
gateway:
  listen: "127.0.0.1:0"
  workers: 2
  admin: {{listen: "127.0.0.1:0", token: {token}}}
  routes: [{{upstream: "{url}"}}]
"""
SERVICE = """\
version: 1
store: memory://
rules:
  - {{name: few, key: header.x-user, limit: 3/h}}
  - {{name: places, concurrent: 2}}
service:
  listen: "http://127.0.0.1:0"
  workers: 2
  admin: {{listen: "127.0.0.1:0", token: {token}}}
"""
TRIED = {"key": "header.x-user", "match": {"path": "/any"}, "limit": "2/h"}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Process]:
    with Service() as service, Process(GATEWAY.format(token=TOKEN, url=service.url)) as found:
        yield found


def test_a_key_is_looked_at_and_lifted_over_all_workers(gateway: Process) -> None:
    statuses = [get(gateway, "/few", "ada") for _ in range(5)]
    worn = order(gateway, "/peek", rule="few", key="ada")

    lifted = order(gateway, "/reset", rule="few", key="ada")

    assert statuses == [200] * 3 + [429] * 2
    assert [limit["remaining"] for limit in worn["limits"]] == [0, 97]
    assert [limit["remaining"] for limit in lifted["limits"]] == [3, 100]
    assert (lifted["workers"], lifted["own"]) == (2, False)
    assert [get(gateway, "/few", "ada") for _ in range(4)] == [200] * 3 + [429]
    said = 'INFO the admin was asked to forget the key "ada" at the rule few\n'
    assert said in gateway.log


def test_a_rule_that_is_not_there_is_not_found(gateway: Process) -> None:
    said = send(gateway, "/peek", rule="fex", key="ada")

    assert said.status == 404
    assert said.body["problems"] == ['there is no rule "fex"; did you mean few?']


def test_a_rule_is_tried_by_all_workers_and_those_that_come_later(gateway: Process) -> None:
    assert send(gateway, "/trial", rule=TRIED).status == 200
    first = [get(gateway, "/any", "eve") for _ in range(6)]
    trial = told(gateway)
    counted = (trial["allowed"], trial["shadowed"])
    assert counted == (2, 4)
    assert trial["rule"] == TRIED
    assert trial["keys"] == [{"key": "eve", "shadowed": 4}]
    assert first == [200] * 6

    # Other rules are read, and a worker falls.
    gateway.rules.write_text(gateway.rules.read_text().replace("100/day", "200/day"))
    assert gateway.ask("POST /reload").status == 200
    os.kill(gateway.workers[0]["pid"], signal.SIGKILL)
    until(lambda: sum(one["restarts"] for one in gateway.workers) == 1, "another worker")
    until(lambda: all(one["up"] for one in gateway.workers), "it to be up")
    # What the one that fell had counted is not lost with it.
    trial = told(gateway)
    assert (trial["allowed"], trial["shadowed"]) == counted
    before = trial["shadowed"]
    assert [get(gateway, "/any", "eve") for _ in range(3)] == [200] * 3
    assert told(gateway)["shadowed"] == before + 3

    assert send(gateway, "/trial", rule=None).status == 200
    assert gateway.ask("GET /reading").body["trial"] is None
    assert "INFO the admin was asked to try a rule in shadow\n" in gateway.log
    assert "INFO the admin was asked to try no rule any more\n" in gateway.log


def test_a_rule_may_be_written_as_in_a_file_and_all_that_is_wrong_is_told(
    gateway: Process,
) -> None:
    good = send(gateway, "/trial", text="- key: client.ip\n  limit: 5/s\n")
    kept = told(gateway)["rule"]
    bad = send(gateway, "/trial", text="key: 7\nlimit: often\n")
    broken = send(gateway, "/trial", text="{")
    empty = send(gateway, "/trial", text="")

    assert good.status == 200
    assert bad.status == broken.status == empty.status == 422
    assert bad.body["problems"] == [
        "key: is a fact such as client.ip or header.x-user, or a template such as "
        "user:{header.x-user}, not 7",
        'limit: rate "often": expected a count but found "often" at column 1; try 100/min or '
        "unlimited",
    ]
    assert len(broken.body["problems"]) == 1
    assert empty.body["problems"] == [
        "lacks a rule; write for example limit: 20/s and key: client.ip"
    ]
    assert told(gateway)["rule"] == kept == {"key": "client.ip", "limit": "5/s"}
    assert send(gateway, "/trial", rule=None).status == 200


def test_the_rules_are_told_as_a_file_says_them(gateway: Process) -> None:
    (rule,) = gateway.ask("GET /rules").body["rules"]

    assert rule["name"] == "few"
    assert rule["rule"]["key"] == "header.x-user"


def test_a_service_does_the_same_where_each_worker_counts_by_itself() -> None:
    with Process(SERVICE.format(token=TOKEN), command="serve") as service:
        # Whichever of them is asked: one has nothing left as soon as somebody was refused.
        until(lambda: take(service, "ada") == 429, "a worker that refuses")
        looked = order(service, "/peek", rule="few", key="ada")
        lifted = order(service, "/reset", rule="few", key="ada")

        assert (looked["limits"][0]["remaining"], looked["own"]) == (0, True)
        assert lifted["limits"][0]["remaining"] == 3
        assert order(service, "/peek", rule="places")["places"] == {
            "limit": 4, "inside": 0, "waiting": 0,
        }  # fmt: skip


def told(process: Process) -> Any:
    """What came of the trial."""
    return process.ask("GET /reading").body["trial"]


def send(process: Process, path: str, **said: Any) -> Any:
    """What the admin answers to this."""
    body = json.dumps(said)
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", process.admin), 10) as client:
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        return reply(client)


def order(process: Process, path: str, **said: Any) -> Any:
    """What workers say to it."""
    found = send(process, path, **said)
    assert found.status == 200, found
    return found.body


def get(process: Process, path: str, user: str) -> int:
    with Talk(process.port) as talk:
        talk.send(
            f"GET {path} HTTP/1.1\r\nhost: a.example\r\nx-user: {user}\r\n"
            "connection: close\r\n\r\n".encode()
        )
        said = talk.hear()
        assert said is not None
        return said.status


def take(process: Process, key: str) -> int:
    """The status of the answer of a service that is asked by the name of a rule."""
    body = json.dumps({"rule": "few", "key": key})
    head = "POST /v1/take HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n"
    head += "content-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", process.ports["http"]), 10) as client:
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        return reply(client).status
