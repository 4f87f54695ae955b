"""Whoever takes a fallen worker's place goes by the rules in force, whatever the file says now."""

from __future__ import annotations

import os
import signal

import pytest

from headgate.rules.model.listen import LISTEN, Listen, Tls
from headgate.rules.watch.sources import Text
from headgate.workers.rulebook import heard, spelled, terms
from tests.gateway.talking import Talk
from tests.servers.locked import Notary, lock
from tests.servers.waiting import until
from tests.workers.conftest import rules
from tests.workers.process import Process
from tests.workers.service import Service

ASK = b"GET %b HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n"
# A gateway that looks after its workers more often than it has to.
BRISK = """\
import headgate.workers.crew as crew
crew.ROUND = 0.1
from headgate.cli.main import main
main()
"""


@pytest.mark.parametrize("replacing", ["0", "0.1"], ids=["told", "watching"], indirect=True)
@pytest.mark.parametrize("said", [None, "version: ["], ids=["gone", "broken"])
def test_a_worker_is_replaced_while_the_file_cannot_be_read(
    replacing: Process, said: str | None
) -> None:
    version = replacing.ask("GET /status").body["version"]
    replacing.rules.unlink() if said is None else replacing.rules.write_text(said)

    pid = fell(replacing)

    assert get(replacing.port, b"/") == 200
    assert replacing.ask("GET /status").body["version"] == version
    assert f"worker {pid} is in its place, by the rules in force" in replacing.log


def test_rules_that_are_not_released_wait_for_a_word(replacing: Process) -> None:
    version = replacing.ask("GET /status").body["version"]
    replacing.rules.write_text(replacing.rules.read_text().replace("100/min", "300/min"))

    fell(replacing)

    assert replacing.ask("GET /status").body["version"] == version
    assert replacing.ask("POST /reload").status == 200
    assert replacing.ask("GET /status").body["version"] != version


def test_who_was_on_the_way_when_rules_were_read_goes_by_them_too(replacing: Process) -> None:
    version = replacing.ask("GET /status").body["version"]
    replacing.rules.write_text(replacing.rules.read_text().replace("100/min", "300/min"))
    os.kill(replacing.workers[0]["pid"], signal.SIGKILL)
    until(lambda: replacing.ask("GET /health", token="").status == 503, "the end of it")

    assert replacing.ask("POST /reload").status == 200

    until(lambda: any(worker["up"] for worker in replacing.workers), "the next one")
    until(lambda: differs(replacing, version), "other rules")


@pytest.mark.parametrize("replacing", ["0", "0.1"], ids=["told", "watching"], indirect=True)
def test_rules_that_came_later_are_in_force_for_who_comes_next(
    replacing: Process, request: pytest.FixtureRequest
) -> None:
    watching = request.node.callspec.params["replacing"] != "0"
    version = replacing.ask("GET /status").body["version"]
    before = len(replacing.log)
    replacing.rules.write_text(replacing.rules.read_text().replace("100/min", "300/min"))
    if not watching:
        assert replacing.ask("POST /reload").status == 200
    later = until(lambda: differs(replacing, version), "other rules")
    if watching:
        # Whom they are in force for says so, and what it is asked next it answers after that.
        until(lambda: f"are in force: {later}" in replacing.log[before:], "the master to be told")
    replacing.rules.unlink()

    fell(replacing)

    assert replacing.ask("GET /status").body["version"] == later


@pytest.mark.parametrize("replacing", ["0.1"], ids=["watching"], indirect=True)
def test_a_listener_that_is_new_in_the_file_waits_for_a_new_master(replacing: Process) -> None:
    good = replacing.rules.read_text()
    before = len(replacing.log)
    replacing.rules.write_text(good.replace("listen: [", 'listen: ["127.0.0.1:0", '))
    warning = "WARNING listen is not what it was; SIGUSR2 starts a master that knows"
    until(lambda: warning in replacing.log[before:], "a word about it")

    fell(replacing)

    assert get(replacing.port, b"/") == 200
    assert replacing.log[before:].count(warning) == 1


def test_what_is_spoken_at_a_port_does_not_change_when_a_worker_falls(
    service: Service, notary: Notary
) -> None:
    """Else it might be plain text where TLS was, or no certificate is asked for any more."""
    secret = (
        f'{{address: "127.0.0.1:0", tls: {{certificate: {notary.certificate}, key: {notary.key}}}}}'
    )
    both = rules(service, 1).replace("unix:FOLDER/web.sock", "127.0.0.1:0")
    with Process(both.replace('"127.0.0.1:0"', secret, 1), "--watch", "0.1") as process:
        version = process.ask("GET /status").body["version"]
        process.rules.write_text(both.replace(', "127.0.0.1:0"', f", {secret}"))
        until(lambda: differs(process, version), "other rules")

        fell(process)

        with Talk(process.port) as talk:
            lock(talk, notary.visiting())
            talk.send(ASK % b"/")
            answer = talk.hear()
    assert answer is not None
    assert answer.status == 200


def test_where_nobody_can_begin_by_the_rules_in_force_the_file_is_looked_at(
    service: Service, notary: Notary
) -> None:
    plain = rules(service, 1)
    upstream = "upstreams: {a: {servers: https://127.0.0.1:1, tls: {ca: FOLDER/ca.pem}}}"
    with Process(plain, "--watch", "60", start=("-c", BRISK)) as process:
        (process.folder / "ca.pem").write_bytes(notary.ca.read_bytes())
        secret = plain.replace(f'"{service.url}"', "a").replace(
            "  routes:", f"  {upstream}\n  routes:"
        )
        process.rules.write_text(secret.replace("FOLDER", str(process.folder)))
        assert process.ask("POST /reload").status == 200
        (process.folder / "ca.pem").unlink()
        (worker,) = process.workers
        os.kill(worker["pid"], signal.SIGKILL)
        until(lambda: "ca.pem" in process.log, "a worker that cannot begin")

        process.rules.write_text(plain.replace("FOLDER", str(process.folder)))

        until(lambda: process.ask("GET /health", token="").status == 200, "a worker that can")
        assert get(process.port, b"/") == 200


def test_what_is_told_between_processes_is_what_is_heard() -> None:
    text = Text("mark", b"# \xff \xc3\xa4\n", "yaml", "seal", "rules.yaml")
    tls = Tls("a.pem", "a.key", "clients.pem")
    several = (Listen("127.0.0.1:1", tls), Listen("unix:/run/web.sock", proxy_protocol=True))

    assert heard(spelled(text)) == text
    assert terms("gateway", LISTEN.spell(several)) == several
    assert terms("gateway", LISTEN.spell(several[:1])) == several[:1]


def fell(process: Process) -> int:
    """Have the only worker killed; the number of the next one, when it stands in its place."""
    (worker,) = process.workers
    expected = worker["restarts"] + 1
    os.kill(worker["pid"], signal.SIGKILL)

    def found() -> list[int]:
        return [w["pid"] for w in process.workers if w["up"] and w["restarts"] == expected]

    return until(found, "the next one")[0]


def differs(process: Process, version: str) -> str:
    """Which version is in force, if it is another."""
    found = str(process.ask("GET /status").body["version"])
    return "" if found == version else found


def get(port: int, path: bytes) -> int:
    with Talk(port) as talk:
        talk.send(ASK % path)
        answer = talk.hear()
    return 0 if answer is None else answer.status
