"""What all workers see is told as one, and nothing is lost with one of them."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.gateway.talking import Talk
from tests.servers.promtool import Promtool
from tests.servers.waiting import until
from tests.workers.conftest import rules
from tests.workers.process import TOKEN, Process
from tests.workers.service import Service

pytest.importorskip("prometheus_client")

ASK = b"GET %b HTTP/1.1\r\nhost: a.example\r\n\r\n"
TAKE = (
    b"POST /v1/take HTTP/1.1\r\nhost: a.example\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b"
)
SERVING = f"""\
version: 1
rules: [{{name: api, key: client.ip, limit: 5/min}}]
service:
  listen: ["http://127.0.0.1:0"]
  workers: 2
  admin: {{listen: "127.0.0.1:0", token: {TOKEN}}}
"""


def test_a_scrape_adds_up_to_what_clients_counted_whoever_ends(
    service: Service, promtool: Promtool
) -> None:
    with Process(rules(service, 2), "--watch", "0") as gateway:
        # 100 a minute are let in, by all workers together.
        statuses = [asked(gateway.port, ASK % b"/exact") for _ in range(40)]
        samples(told(gateway))
        lose(gateway)
        statuses += [asked(gateway.port, ASK % b"/exact") for _ in range(40)]
        gateway.rules.write_text(gateway.rules.read_text().replace("100/min", "90/min"))
        assert gateway.ask("POST /reload").status == 200
        statuses += [asked(gateway.port, ASK % b"/exact") for _ in range(40)]
        text, reading = told(gateway), gateway.ask("GET /reading").body

    assert promtool.check(text) == ""
    metrics = samples(text)
    allowed, refused = statuses.count(200), statuses.count(429)
    assert (allowed + refused, refused >= 20) == (120, True)
    decided = "headgate_decisions_total"
    assert metrics[decided, "exact", "allowed"] == allowed
    assert metrics[decided, "exact", "refused"] == refused
    assert metrics["headgate_http_requests_total", "*", "2xx"] == allowed
    assert metrics["headgate_http_requests_total", "*", "4xx"] == refused
    assert metrics["headgate_http_request_duration_seconds_count", "*"] == 120
    servers = [key for key in metrics if key[0] == "headgate_upstream_requests_total"]
    assert sum(metrics[key] for key in servers) == allowed
    assert metrics["headgate_workers",] == 2
    assert metrics["headgate_worker_restarts_total",] == 1
    assert metrics["headgate_config_reloads_total", "ok"] == 1
    assert reading["rules"]["exact"]["terms"] == ["90/min"]
    assert {one["kind"] for one in reading["refusals"]} == {"limit"}


def test_a_service_is_scraped_alike() -> None:
    with Process(SERVING, command="serve") as process:
        body = b'{"rule":"api","key":"ada"}'
        statuses = [asked(process.ports["http"], TAKE % (len(body), body)) for _ in range(4)]
        lose(process)
        statuses += [asked(process.ports["http"], TAKE % (len(body), body)) for _ in range(4)]
        metrics, reading = samples(told(process)), process.ask("GET /reading").body

    assert sorted(statuses) == [200] * 5 + [429] * 3
    assert metrics["headgate_decisions_total", "api", "allowed"] == 5
    assert metrics["headgate_decisions_total", "api", "refused"] == 3
    assert metrics["headgate_near_limit_total", "api"] == 1
    assert metrics["headgate_http_requests_total", "http", "2xx"] == 5
    assert metrics["headgate_http_requests_total", "http", "4xx"] == 3
    assert [one["key"] for one in reading["top"]["api"]["asked"]] == ["ada"]
    assert not any("ada" in label for name in metrics for label in name[1:])


def asked(port: int, request: bytes) -> int:
    """The status of one request on a connection of its own."""
    with Talk(port) as talk:
        talk.send(request)
        answer = talk.hear()
        assert answer is not None
        return answer.status


def lose(process: Process) -> None:
    """Kill one worker, and come back when another stands in its place."""
    os.kill(process.workers[0]["pid"], signal.SIGKILL)
    until(lambda: process.workers[0]["restarts"] == 1, "another worker")
    until(lambda: all(one["up"] for one in process.workers), "it to be up")


def told(process: Process) -> str:
    """What the admin tells Prometheus."""
    said = process.ask("GET /metrics")
    assert said.head.startswith("HTTP/1.1 200 ")
    assert "content-type: text/plain; version=0.0.4; charset=utf-8" in said.head
    return str(said.body)


def samples(text: str) -> dict[tuple[str, ...], float]:
    """What that is, by name and the values of labels in the order they have."""
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[tuple[str, ...], Any] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            words = ("rule", "route", "outcome", "status_class", "result", "le")
            labels = [sample.labels[word] for word in words if word in sample.labels]
            found[sample.name, *labels] = sample.value
    return found
