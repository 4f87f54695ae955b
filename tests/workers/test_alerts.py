"""Alerts of a real gateway under traffic reach a real receiver: raised once, and cleared once."""

from __future__ import annotations

import http.client
import re

from tests.servers.waiting import until
from tests.telemetry.receiver import Receiver
from tests.workers.process import TOKEN, Process
from tests.workers.service import Service

RULES = """\
version: 1
rules:
  - {{name: few, match: {{path: /few}}, limit: 5/min}}
alerts:
  conditions:
    - {{name: many-refused, when: refused, above: 20%, window: 2s, least: 10}}
    - {{name: bad-rules, when: reload}}
  notify:
    webhook: {{url: "{hook}", secret: a-secret-of-some-length}}
gateway:
  listen: "127.0.0.1:0"
  workers: 2
  admin: {{listen: "127.0.0.1:0", token: {token}}}
  routes: [{{upstream: "{url}"}}]
"""


def test_an_alert_of_a_gateway_is_raised_once_and_cleared_once(service: Service) -> None:
    with Receiver() as receiver:
        text = RULES.format(hook=receiver.url, token=TOKEN, url=service.url)
        with Process(text) as gateway:
            until(lambda: flood(gateway, receiver), "it to be raised")
            standing = gateway.ask("GET /reading").body["alerts"]
            until(lambda: len(receiver.sent) > 1, "it to be cleared")
            left = gateway.ask("GET /reading").body["alerts"]
            log = gateway.log

    first, second = [sent.body for sent in receiver.sent]
    assert [one["event"] for one in (first, second)] == ["raised", "cleared"]
    assert (first["id"], first["rule"], first["kind"]) == (second["id"], "few", "refused")
    assert 0.2 <= first["value"] <= 1.0 > second["value"]
    assert [(one["name"], one["level"]) for one in standing] == [("many-refused", "raised")]
    assert left == []
    assert re.findall(r"alert (\w+): many-refused", log) == ["raised", "cleared"]
    assert receiver.url.partition("hook")[2] not in log


def flood(gateway: Process, receiver: Receiver) -> bool:
    """Ask a few times; whether somebody was told of it."""
    line = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    for _ in range(20):
        line.request("GET", "/few")
        line.getresponse().read()
    line.close()
    return bool(receiver.sent)
