"""Alerts reach whoever is to be told, once, signed, and nobody waits for it."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules.model.alerts import Alerts
from headgate.telemetry import bells as module
from headgate.telemetry.alerts import Alert
from headgate.telemetry.bells import Bells, Source
from headgate.telemetry.patrol import Patrol
from tests.servers.waiting import until
from tests.telemetry.readings import reading
from tests.telemetry.receiver import Receiver

ALERT = Alert("many", "refused", "api", "critical", "raised", 1763520000.0, 0.34, 0.2)
SECRET, TOKEN = "a-secret-of-some-length", "a-token-of-some-length"
NOW = 1763520060.0


def made(receiver: Receiver, pauses: tuple[float, ...] = (), **said: Any) -> Bells:
    """Bells that ring there."""
    hook = {"url": receiver.url, **said}
    terms = Alerts(notify={"webhook": hook}, runbooks="https://wiki.example/runbooks")
    return Bells(terms, Source("gateway", "6e1f", "web-1"), ManualClock(NOW), pauses)


def arrived(receiver: Receiver, count: int) -> None:
    until(lambda: len(receiver.sent) >= count, f"{count} to arrive")


def test_an_alert_is_sent_as_it_is_documented() -> None:
    with Receiver() as receiver:
        bells = made(receiver)
        bells.ring([ALERT])
        arrived(receiver, 1)
        bells.close()

    (sent,) = receiver.sent
    assert (sent.path, sent.headers["content-type"]) == ("/hook?for=web", "application/json")
    assert "headgate-signature" not in sent.headers
    assert sent.body == {
        "version": 1,
        "id": sent.body["id"],
        "event": "raised",
        "name": "many",
        "kind": "refused",
        "rule": "api",
        "severity": "critical",
        "value": 0.34,
        "threshold": 0.2,
        "since": "2025-11-19T02:40:00+00:00",
        "at": "2025-11-19T02:41:00+00:00",
        "source": {"host": "web-1", "serves": "gateway", "rules": "6e1f"},
        "runbook": "https://wiki.example/runbooks#refused",
        "text": "many (api): 34% of the requests are refused (raised at 20%)",
    }


def test_who_has_the_secret_can_tell_that_it_is_ours() -> None:
    with Receiver() as receiver:
        bells = made(receiver, secret=SECRET, token=TOKEN)
        bells.ring([ALERT])
        arrived(receiver, 1)
        bells.close()

    (sent,) = receiver.sent
    seconds, _, found = sent.headers["headgate-signature"].partition(",v1=")
    sealed = seconds.removeprefix("t=").encode() + b"." + sent.raw
    assert seconds == "t=1763520060"
    assert found == hmac.new(SECRET.encode(), sealed, hashlib.sha256).hexdigest()
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"


def test_what_is_raised_and_cleared_has_one_name() -> None:
    with Receiver() as receiver:
        bells = made(receiver)
        bells.ring([ALERT])
        bells.ring([replace(ALERT, level="cleared"), replace(ALERT, since=2.0)])
        arrived(receiver, 3)
        bells.close()

    first, second, other = [sent.body for sent in receiver.sent]
    assert first["id"] == second["id"] != other["id"]
    assert [first["event"], second["event"], other["event"]] == ["raised", "cleared", "raised"]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_what_may_pass_is_tried_again(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.alerts")
    with Receiver(status, status) as receiver:
        bells = made(receiver, (0.0, 0.0))
        bells.ring([ALERT])
        arrived(receiver, 3)
        bells.close()

    place = receiver.url.partition("/hook")[0]
    again = f"{place}/***: alert many is told again in 0 s: it answers with {status}"
    assert caplog.messages[1:] == [again] * 2
    assert len({sent.raw for sent in receiver.sent}) == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (302, "it answers with 302, and redirects are not followed"),
        (404, "it answers with 404"),
        (400, "it answers with 400"),
    ],
)
def test_what_will_not_pass_is_said_once(
    status: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Receiver(status) as receiver:
        bells = made(receiver, (0.0,))
        bells.ring([ALERT])
        until(lambda: len(caplog.messages) == 2, "it to be logged")
        bells.close()

    place = receiver.url.partition("/hook")[0]
    assert caplog.messages[1] == f"{place}/***: alert many was not told: {said}"
    assert [sent.path for sent in receiver.sent] == ["/hook?for=web"]


def test_after_the_last_pause_it_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver(*[500] * 9) as receiver:
        bells = made(receiver, (0.0, 0.0))
        bells.ring([ALERT])
        until(lambda: "was not told" in caplog.text, "it to be given up")
        bells.close()

    assert len(receiver.sent) == 3


def test_where_nobody_is_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver() as receiver:
        bells = made(receiver)
    bells.ring([ALERT])
    until(lambda: len(caplog.messages) == 2, "it to be logged")
    bells.close()

    assert caplog.messages[1].endswith("alert many was not told: [Errno 111] Connection refused")


def test_nobody_waits_and_what_is_too_much_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    with Receiver(503) as receiver:
        bells = made(receiver, (60.0,))
        bells.ring([ALERT])
        arrived(receiver, 1)
        # It pauses now, and the others queue up behind it: the oldest are lost, none comes twice.
        bells.ring([replace(ALERT, since=float(number)) for number in (1, 2, 3, 4, 5, 5, 5)])
        bells.close(10.0)

    assert receiver.sent[1].raw == receiver.sent[0].raw
    assert [sent.body["since"][-9:-6] for sent in receiver.sent[2:]] == [":03", ":04", ":05"]
    assert "2 alerts were not told to" in caplog.text


def test_the_log_is_told_as_the_rules_have_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.alerts")
    for word in ("error", "none"):
        bells = Bells(Alerts(notify={"log": word}), Source("gateway", "6e1f", "web-1"))
        bells.ring([ALERT, replace(ALERT, level="cleared", value=0.01)])

    said = "many (api): 34% of the requests are refused (raised at 20%)"
    over = "many (api) is over: 1% of the requests are refused (raised at 20%)"
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("ERROR", f"alert raised: {said}"),
        ("INFO", f"alert cleared: {over}"),
    ]
    assert vars(caplog.records[0])["fields"] == {
        "event": "alert_raised",
        "name": "many",
        "kind": "refused",
        "rule": "api",
        "severity": "critical",
        "value": 0.34,
        "threshold": 0.2,
        "runbook": "runbooks.md#refused",
    }


def test_other_terms_ring_elsewhere() -> None:
    with Receiver() as first, Receiver() as second:
        bells = made(first)
        bells.ring([ALERT])
        arrived(first, 1)
        bells.change(Alerts(notify={"webhook": [second.url]}))
        bells.ring([ALERT])
        arrived(second, 1)
        bells.close()

    assert len(first.sent) == 1


def test_a_patrol_looks_when_it_is_asked_and_tells_who_listens(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, refused, heard = ManualClock(NOW), [0], list[str]()
    terms = Alerts([{"name": "many", "when": "refused", "least": 10}])
    patrol = Patrol(lambda: reading({"api": {"refused": refused[0]}}), terms, clock)
    patrol.listen(lambda alert: heard.append(alert.level))
    patrol.listen(broken)

    for more in (0, 50, 0):
        refused[0] += more
        patrol.look()
        clock.advance(1.0)
    standing = json.dumps(patrol.told)
    clock.advance(120.0)
    patrol.look()

    assert heard == ["raised", "cleared"]
    assert json.loads(standing) == [
        {"name": "many", "kind": "refused", "rule": "api", "level": "raised",
         "since": NOW + 1, "value": 1.0, "threshold": 0.2}
    ]  # fmt: skip
    assert (patrol.told, caplog.messages.count("a listener failed; the alerts go on")) == ([], 2)


def test_a_patrol_of_its_own_thread_goes_on_after_a_reading_that_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headgate.telemetry.patrol.ROUND", 0.001)
    looks: list[Callable[[], Any]] = [broken]

    def source() -> Any:
        return looks.pop()() if looks else reading(store={"degraded": True})

    with Patrol(source, Alerts([{"name": "store", "when": "degraded"}])) as patrol:
        until(lambda: patrol.raised, "an alert")

    assert [one.name for one in patrol.raised] == ["store"]
    assert "alerts could not be judged; they are looked at again" in caplog.text


def broken(*_: object) -> None:
    raise ValueError("broken")
