"""An app sees what its rules do, alone or with the processes it shares them with."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from headgate import ManualClock, SharedStore
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.adapters.wsgi import HeadgateMiddleware as WSGIMiddleware
from headgate.errors import MissingExtra
from headgate.rules import AsyncGatekeeper, Gatekeeper, Request, Rule, Rules
from headgate.telemetry import prometheus
from headgate.telemetry.names import FAMILIES
from headgate.telemetry.prometheus import Collector, apage, exposition, page
from headgate.telemetry.telemetry import Event, Telemetry
from tests.servers.promtool import Promtool
from tests.servers.waiting import until

client = pytest.importorskip("prometheus_client")
FEW = Rules([Rule("api", key="client.ip", limit="2/min")])
ADA = Request("GET", "/x", client="203.0.113.7")


@pytest.fixture
def name() -> Iterator[str]:
    found = f"telemetry-{os.getpid()}"
    yield found
    SharedStore(found).remove()


def metrics(text: str) -> dict[tuple[str, ...], float]:
    from prometheus_client.parser import text_string_to_metric_families

    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_an_app_sees_what_its_rules_do() -> None:
    keeper = Gatekeeper(FEW, clock=ManualClock(start=1000))
    telemetry = Telemetry(keeper)
    for _ in range(3):
        keeper.enter(ADA)

    reading = telemetry.reading()

    rule = reading["rules"]["api"]
    assert (rule["allowed"], rule["refused"], rule["near"]) == (2, 1, 1)
    assert (reading["serves"], reading["version"]) == ("library", keeper.version)
    assert reading["top"]["api"]["refused"] == [
        {"key": "203.0.113.7", "asked": 3, "error": 0, "refused": 1}
    ]
    assert reading["refusals"] == [
        {
            "time": "1970-01-01T00:16:40+00:00", "decision": "", "rule": "api", "kind": "limit",
            "status": 429, "client": "203.0.113.7", "method": "GET", "host": "", "path": "/x",
            "key": "203.0.113.7", "reason": "limit", "remaining": 0, "retry_after": 30.0,
            "shadow": False,
        }
    ]  # fmt: skip


def test_prometheus_has_nothing_against_what_it_is_told(promtool: Promtool) -> None:
    keeper = Gatekeeper(FEW, clock=ManualClock())
    keeper.enter(ADA)

    assert promtool.check(exposition(Telemetry(keeper).reading())) == ""
    assert promtool.check('bad_total{a="b} 1\n') != ""


def test_counters_do_not_go_back_when_rules_change() -> None:
    keeper = Gatekeeper(FEW, clock=ManualClock())
    telemetry = Telemetry(keeper)
    keeper.enter(ADA)

    keeper.change(Rules([Rule("other", limit="9/min")]))
    assert [*telemetry.reading()["rules"]] == ["other"]
    keeper.change(FEW)
    keeper.enter(ADA)

    reading = telemetry.reading()
    assert reading["rules"]["api"]["allowed"] == 2
    assert reading["reload"]["loads"] == 2


def test_forked_workers_of_a_library_see_the_sums_of_all(name: str) -> None:
    keeper = Gatekeeper(FEW, store=f"shared://{name}")
    telemetry = Telemetry(keeper)
    keeper.enter(ADA)
    children = [fork(lambda: [keeper.enter(ADA) for _ in range(5)]) for _ in range(2)]
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    later = fork(lambda: keeper.enter(ADA))

    found = metrics(exposition(telemetry.reading()))
    os.kill(later, signal.SIGKILL)
    os.waitpid(later, 0)

    assert found["headgate_decisions_total", "allowed", "api"] == 2
    assert found["headgate_decisions_total", "refused", "api"] == 10
    assert telemetry.reading()["rules"]["api"]["refused"] == 10
    # Whoever comes later, without having been forked, sees them as well.
    other = Telemetry(Gatekeeper(FEW), board=f"shared://{name}")
    assert other.reading()["rules"]["api"]["refused"] == 10


def fork(work: Any) -> int:
    """A process that has done the work, and stays until it is killed."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            os.write(told, b"x")
            signal.pause()
        finally:
            os._exit(0)
    assert os.read(ready, 1) == b"x"
    os.close(ready)
    os.close(told)
    return child


def test_listeners_are_told_of_what_happens_and_no_request_waits() -> None:
    clock = ManualClock()
    rules = [*FEW.rules, Rule("tried", limit="1/min", mode="shadow")]
    keeper = Gatekeeper(Rules(rules), clock=clock)
    telemetry = Telemetry(keeper)
    heard: list[Event] = []
    telemetry.listen(heard.append, every=3600)
    telemetry.look()

    for _ in range(3):
        keeper.enter(ADA)
    assert heard == []
    keeper.change(FEW)
    telemetry.look()
    telemetry.close()

    assert [(one.kind, one.subject) for one in heard] == [
        ("shadowed", "tried"), ("refused", "api"), ("reload", keeper.version),
    ]  # fmt: skip
    assert heard[1].facts["client"] == "203.0.113.7"


def test_a_listener_that_fails_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    keeper = Gatekeeper(FEW)
    telemetry = Telemetry(keeper)
    heard: list[Event] = []
    telemetry.listen(lambda event: 1 / 0, every=0.01)
    telemetry.listen(heard.append)
    for _ in range(3):
        keeper.enter(ADA)

    until(lambda: heard, "an event")
    telemetry.close()
    assert "a listener failed" in caplog.messages


def test_a_middleware_is_looked_at_in_one_line() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask() -> None:
        scope = {
            "type": "http", "method": "GET", "path": "/x", "raw_path": b"/x", "query_string": b"",
            "headers": [], "client": ("203.0.113.7", 1), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip

        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            sent.append(message)

        await middleware(scope, receive, send)
        await apage(telemetry)(scope, receive, send)

    sent: list[Any] = []
    middleware = HeadgateMiddleware(app, FEW)
    telemetry = Telemetry(middleware)
    asyncio.run(ask())

    found = metrics(sent[-1]["body"].decode())
    assert found["headgate_decisions_total", "allowed", "api"] == 1
    assert sent[-2]["headers"][0] == (b"content-type", prometheus.TYPE.encode())


def test_a_wsgi_app_answers_whoever_scrapes() -> None:
    telemetry = Telemetry(WSGIMiddleware(lambda environ, begin: [], FEW))
    said: list[Any] = []

    (body,) = page(telemetry)({}, lambda *words: said.append(words))

    assert said == [
        ("200 OK", [("content-type", prometheus.TYPE), ("content-length", str(len(body)))])
    ]
    assert ("headgate_workers",) in metrics(body.decode())


def test_an_async_gatekeeper_is_looked_at_as_well() -> None:
    async def ask() -> None:
        for _ in range(3):
            await keeper.enter(ADA)

    keeper = AsyncGatekeeper(FEW)
    telemetry = Telemetry(keeper)
    asyncio.run(ask())

    registry = client.CollectorRegistry()
    registry.register(Collector(telemetry))
    assert registry.get_sample_value(
        "headgate_decisions_total", {"rule": "api", "outcome": "refused"}
    ) == 1  # fmt: skip
    assert len(telemetry.reading()["refusals"]) == 1


def test_every_metric_has_a_family_and_no_key_is_a_label() -> None:
    keeper = Gatekeeper(FEW)
    telemetry = Telemetry(keeper)
    for _ in range(3):
        keeper.enter(ADA)
    reading = telemetry.reading()

    told = {name for name, _, _ in prometheus.samples(reading)}

    assert told <= {family.name for family in FAMILIES}
    assert "203.0.113.7" not in exposition(reading)


def test_what_a_board_can_be_is_said() -> None:
    with pytest.raises(ValueError, match='board is "shared://name", for all processes'):
        Telemetry(Gatekeeper(FEW), board="redis://127.0.0.1")


def test_what_has_to_be_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r'try pip install "headgate\[prometheus\]"'):
        Collector(None)
