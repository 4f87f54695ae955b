"""What all workers see is told as one, and nothing is lost with one of them."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.gateway.talking import Talk
from tests.servers.waiting import until
from tests.workers.process import Process

ASK = b"GET %b HTTP/1.1\r\nhost: a.example\r\n\r\n"


def test_nothing_is_lost_with_a_worker(pair: Process) -> None:
    for _ in range(6):
        with Talk(pair.port) as talk:
            talk.send(ASK % b"/exact")
            assert talk.hear() is not None
    before = read(pair)
    victim = before["workers"][0]

    os.kill(victim["pid"], signal.SIGKILL)

    until(lambda: read(pair)["workers"][0]["restarts"] == victim["restarts"] + 1, "another worker")
    until(lambda: read(pair)["workers"][0]["up"], "it to be up")
    assert before["rules"]["exact"]["allowed"] == 6
    assert [one["up"] for one in before["workers"]] == [True, True]
    after = read(pair)
    assert after["rules"]["exact"] == before["rules"]["exact"]
    assert after["routes"]["*"]["requests"] == 6
    assert after["routes"]["*"]["statuses"]["2xx"] == 6
    assert sum(after["routes"]["*"]["latency"]["counts"]) == 6


def read(process: Process) -> dict[str, Any]:
    answer = process.ask("GET /reading")
    assert answer.status == 200
    found: dict[str, Any] = answer.body
    return found
