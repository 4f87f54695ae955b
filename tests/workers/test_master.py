"""A master begins, drains and ends, and its workers do not outlive it for long."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from tests.gateway.talking import Talk
from tests.servers.waiting import until
from tests.workers.conftest import rules
from tests.workers.process import Process, gone, refused
from tests.workers.service import Service

ACTIVATE = """\
import os, socket, sys
line = socket.create_server(("127.0.0.1", 0))
os.dup2(line.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.executable, [sys.executable, "-m", "headgate.cli", *sys.argv[1:]])
"""
ASK = b"GET %b HTTP/1.1\r\nhost: a.example\r\n\r\n"


def test_a_new_master_that_cannot_start_changes_nothing(single: Process) -> None:
    single.rules.write_text(single.rules.read_text() + "  workers: 0\n")

    single.signal(signal.SIGUSR2)

    until(lambda: "did not come up" in single.log, "the end of the new master")
    assert single.log.endswith("ERROR the new master did not come up; this one goes on\n")
    assert single.ask("GET /health", token="").status == 200


def test_what_is_under_way_is_finished_before_the_end(single: Process, service: Service) -> None:
    held = service.held
    with Talk(single.port) as idle, Talk(single.port) as busy:
        idle.send(ASK % b"/")
        assert idle.hear() is not None
        busy.send(ASK % b"/slow")
        until(lambda: service.held == held + 1, "a request in the service")

        single.signal(signal.SIGTERM)

        assert idle.rest() == b""
        until(lambda: refused(single.port), "nobody to listen")
        assert single.ask("GET /health", token="").status == 503
        service.release()
        answer = busy.hear()
        assert answer is not None
        assert (answer.status, answer.body, answer.all("connection")) == (200, b"ok", ["close"])
    assert single.end() == 0
    assert not (single.folder / "web.sock").exists()


def test_a_second_interrupt_ends_it_at_once(single: Process, service: Service) -> None:
    held = service.held
    with Talk(single.port) as talk:
        talk.send(ASK % b"/slow")
        until(lambda: service.held == held + 1, "a request in the service")
        single.signal(signal.SIGINT)
        until(lambda: refused(single.port), "nobody to listen")

        single.signal(signal.SIGINT)

        assert talk.hear() is None
    assert single.end() == 0


def test_workers_without_a_master_finish_and_end(single: Process, service: Service) -> None:
    (worker,) = single.workers
    held = service.held
    with Talk(single.port) as talk:
        talk.send(ASK % b"/slow")
        until(lambda: service.held == held + 1, "a request in the service")

        single.signal(signal.SIGKILL)
        until(lambda: refused(single.port), "nobody to listen")
        service.release()

        answer = talk.hear()
        assert answer is not None
        assert answer.status == 200
    until(lambda: gone(worker["pid"]), "the worker to end")


def test_a_worker_that_falls_again_and_again_is_waited_for(single: Process) -> None:
    def fall() -> bool:
        for worker in single.workers:
            if worker["up"]:
                with suppress(ProcessLookupError):
                    os.kill(worker["pid"], signal.SIGKILL)
        waited = "replaced in 1 s" in single.log
        return waited and single.ask("GET /health", token="").status == 503

    until(fall, "a worker to be waited for")
    assert "replaced at once" in single.log


def test_a_file_of_refusals_that_was_renamed_is_begun_anew(service: Service) -> None:
    text = rules(service, 2).replace("100/min", "1/h") + "  audit: {file: FOLDER/refused.log}\n"
    with Process(text) as process:
        current, former = process.folder / "refused.log", process.folder / "refused.log.1"
        until(lambda: refusing(process) and current.read_text(), "a refusal that is written")
        current.rename(former)

        process.signal(signal.SIGUSR1)

        until(current.exists, "a new file")
        until(lambda: refusing(process) and current.read_text(), "a refusal in the new file")
        assert former.read_text()
        assert process.ask("GET /health", token="").status == 200
        assert [worker["restarts"] for worker in process.workers] == [0, 0]


def test_it_listens_where_systemd_does(service: Service) -> None:
    plain = rules(service, 1).replace(', "unix:FOLDER/web.sock"', "")
    with Process(plain, start=("-c", ACTIVATE)) as process, Talk(process.port) as talk:
        talk.send(ASK % b"/")
        answer = talk.hear()

    assert answer is not None
    assert answer.status == 200


def refusing(process: Process) -> bool:
    """Whether one who comes now is refused."""
    with Talk(process.port) as talk:
        talk.send(ASK % b"/exact")
        answer = talk.hear()
    return answer is not None and answer.status == 429
