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


@pytest.mark.parametrize("watch", ["0", "0.1"], ids=["told", "watching"])
@pytest.mark.parametrize("said", [None, "version: ["], ids=["gone", "broken"])
def test_a_worker_is_replaced_while_the_file_cannot_be_read(
    watch: str, said: str | None, service: Service
) -> None:
    with Process(rules(service, 1), "--watch", watch) as process:
        version = process.ask("GET /status").body["version"]
        process.rules.unlink() if said is None else process.rules.write_text(said)

        fell(process)

        assert get(process.port, b"/") == 200
        assert process.ask("GET /status").body["version"] == version
        assert "is in its place, by the rules in force" in process.log


def test_rules_that_are_not_released_wait_for_a_word(single: Process) -> None:
    version = single.ask("GET /status").body["version"]
    single.rules.write_text(single.rules.read_text().replace("100/min", "300/min"))

    fell(single)

    assert single.ask("GET /status").body["version"] == version
    assert single.ask("POST /reload").status == 200
    assert single.ask("GET /status").body["version"] != version


def test_who_was_on_the_way_when_rules_were_read_goes_by_them_too(single: Process) -> None:
    version = single.ask("GET /status").body["version"]
    single.rules.write_text(single.rules.read_text().replace("100/min", "300/min"))
    os.kill(single.workers[0]["pid"], signal.SIGKILL)
    until(lambda: single.ask("GET /health", token="").status == 503, "the end of it")

    assert single.ask("POST /reload").status == 200

    until(lambda: any(worker["up"] for worker in single.workers), "the next one")
    until(lambda: differs(single, version), "other rules")


@pytest.mark.parametrize("watch", ["0", "0.1"], ids=["told", "watching"])
def test_rules_that_came_later_are_in_force_for_who_comes_next(
    watch: str, service: Service
) -> None:
    with Process(rules(service, 1), "--watch", watch) as process:
        version = process.ask("GET /status").body["version"]
        process.rules.write_text(process.rules.read_text().replace("100/min", "300/min"))
        if watch == "0":
            assert process.ask("POST /reload").status == 200
        later = until(lambda: differs(process, version), "other rules")
        if watch != "0":
            # Whom they are in force for says so, and what it is asked next it answers after that.
            until(lambda: f"are in force: {later}" in process.log, "the master to be told")
        process.rules.unlink()

        fell(process)

        assert process.ask("GET /status").body["version"] == later


def test_a_listener_that_is_new_in_the_file_waits_for_a_new_master(service: Service) -> None:
    with Process(rules(service, 1), "--watch", "0.1") as process:
        good = process.rules.read_text()
        process.rules.write_text(good.replace("listen: [", 'listen: ["127.0.0.1:0", '))
        warning = "WARNING listen is not what it was; SIGUSR2 starts a master that knows"
        until(lambda: warning in process.log, "a word about it")

        fell(process)

        assert get(process.port, b"/") == 200
        assert process.log.count(warning) == 1


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


def fell(process: Process) -> None:
    """Have the only worker killed, and come back when another stands in its place."""
    (worker,) = process.workers
    os.kill(worker["pid"], signal.SIGKILL)
    until(lambda: [one["restarts"] for one in process.workers if one["up"]] == [1], "the next one")


def differs(process: Process, version: str) -> str:
    """Which version is in force, if it is another."""
    found = str(process.ask("GET /status").body["version"])
    return "" if found == version else found


def get(port: int, path: bytes) -> int:
    with Talk(port) as talk:
        talk.send(ASK % path)
        answer = talk.hear()
    return 0 if answer is None else answer.status
