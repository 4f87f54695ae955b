"""Two workers are one gateway: they count together, and nobody notices that one falls."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from tests.gateway.talking import Talk
from tests.servers.waiting import until
from tests.workers.load import Load
from tests.workers.process import Process
from tests.workers.service import Service


def test_two_workers_let_in_exactly_as_many_as_one(pair: Process) -> None:
    before = [worker["requests"] for worker in pair.workers]

    statuses = [get(pair, "/exact") for _ in range(130)]

    assert (statuses.count(200), statuses.count(429)) == (100, 30)
    status = pair.ask("GET /status").body
    assert status["rules"]["exact"] == {"passed": 100, "refused": 30, "shadowed": 0}
    assert status["refused"] == 30
    served = [worker["requests"] for worker in status["workers"]]
    assert sum(served) == status["requests"] == sum(before) + 130
    assert all(served), "the kernel deals connections out to both"


def test_places_of_workers_that_are_killed_come_back(pair: Process, service: Service) -> None:
    held = service.held
    first = [ask(pair, "/slow") for _ in range(2)]
    until(lambda: service.held == held + 2, "two requests in the service")
    assert get(pair, "/slow") == 503

    for worker in pair.workers:
        os.kill(worker["pid"], signal.SIGKILL)
    # What is asked meanwhile waits for those who come next.
    later = [ask(pair, "/slow") for _ in range(2)]
    until(lambda: service.held == held + 4, "two requests that found a place")

    service.release()
    assert [answer(talk) for talk in first] == [0, 0]
    assert [answer(talk) for talk in later] == [200, 200]
    assert [worker["restarts"] for worker in pair.workers] == [1, 1]
    assert pair.log.count("ended with -9; replaced at once") == 2


def test_rules_change_under_load_and_nobody_notices(pair: Process) -> None:
    version = pair.ask("GET /status").body["version"]
    with Load(pair.port) as load:
        until(lambda: load.answers > 50, "a load")
        pair.rules.write_text(pair.rules.read_text().replace("100/min", "200/min"))
        pair.signal(signal.SIGHUP)
        until(lambda: pair.ask("GET /status").body["version"] != version, "other rules")
        until(lambda: load.answers > 150, "answers by other rules")

    assert (load.troubles, load.stale) == ([], 0)


def test_bad_rules_change_nothing_and_their_place_is_told(pair: Process) -> None:
    good = pair.rules.read_text()
    version = pair.ask("GET /status").body["version"]
    try:
        pair.rules.write_text(good.replace("concurrent: 2", "concurrent: many"))
        said = pair.ask("POST /reload")
    finally:
        pair.rules.write_text(good)

    problem = (
        "rules.yaml:4:54: rules[1].concurrent: is how many at once, a whole number "
        'from 1 to 1,073,741,824, not "many"'
    )
    assert (said.status, said.body["problems"]) == (422, [problem])
    assert f"rules stay as they were:\n    {problem}\n" in pair.log
    assert pair.ask("GET /status").body["version"] == version
    assert get(pair, "/") == 200


def test_a_new_master_takes_over_and_nobody_is_turned_away(pair: Process) -> None:
    pids = {worker["pid"] for worker in pair.workers}
    with Load(pair.port) as load:
        until(lambda: load.answers > 50, "a load")

        pair.succeed()

        after = load.answers
        until(lambda: load.answers > after + 50, "answers of the new workers")

    assert (load.troubles, load.stale) == ([], 0)
    assert pids.isdisjoint(worker["pid"] for worker in pair.workers)
    assert whispered(pair.folder / "web.sock").startswith(b"HTTP/1.1 200 ")


def whispered(path: Path) -> bytes:
    """What is answered at a socket of the file system."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n")
        return b"".join(iter(lambda: client.recv(65_536), b""))


def ask(process: Process, path: str) -> Talk:
    """A connection on which this is asked."""
    talk = Talk(process.port)
    talk.send(f"GET {path} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n".encode())
    return talk


def answer(talk: Talk) -> int:
    """The status of the answer; 0 if the connection ends without one."""
    with talk:
        said = talk.hear()
        return 0 if said is None else said.status


def get(process: Process, path: str) -> int:
    return answer(ask(process, path))
