"""Rules at work in a gateway: what they refuse, in which form, and what they tell."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.answering import Answering
from tests.gateway.asking import GET, asked, reply
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import Answer

ONCE = {"name": "once", "limit": {"rate": "1/h", "burst": 1}}
MANY = {"name": "many", "limit": "100/h"}


def refused(stage: Stage) -> Answer:
    """The second answer of two, to one client."""
    with stage.talk() as talk:
        assert reply(talk).status == 200
        return reply(talk)


def test_too_much_is_a_429_that_says_when_to_come_back(service: Answering) -> None:
    with Stage(plan(service.url, rules=[ONCE])) as stage:
        answer = refused(stage)

    assert answer.status == 429
    assert answer.all("retry-after") == ["3600"]
    assert answer.all("content-type") == ["application/problem+json"]
    assert answer.all("ratelimit-policy") == ['"once";q=1;w=3600']
    assert answer.all("ratelimit") == ['"once";r=0;t=3600']
    assert len(answer.all("headgate-decision")) == 1


def test_every_refusal_has_a_line_of_its_own(
    service: Answering, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate.audit")
    with Stage(plan(service.url, rules=[ONCE])) as stage:
        answer = refused(stage)
        version = stage.gateway.keeper.version
    (line,) = [one.getMessage() for one in caplog.records if one.name == "headgate.audit"]

    assert json.loads(line) == {
        "time": "1970-01-12T13:46:40+00:00",
        "decision": answer.all("headgate-decision")[0],
        "rule": "once",
        "kind": "limit",
        "status": 429,
        "client": "127.0.0.1",
        "method": "GET",
        "host": "a.test",
        "path": "/a",
        "retry_after": 3600.0,
        "version": version,
        "reason": "limit",
        "policy": "once",
        "key_source": "",
        "key": "",
        "terms": "",
        "full": "",
        "cost": 1,
        "limit": 1,
        "remaining": 0,
        "reset": 3600.0,
        "degraded": False,
        "waited": 0.0,
        "shadowed": [],
        "store": "memory://",
    }


def test_what_never_fits_has_no_time_in_its_line(
    service: Answering, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate.audit")
    with Stage(plan(service.url, rules=[{**ONCE, "cost": 5}])) as stage, stage.talk() as talk:
        assert reply(talk).status == 429
    (line,) = [one.getMessage() for one in caplog.records if one.name == "headgate.audit"]

    # As JSON has no word for it.
    assert '"retry_after": null' in line


def test_there_are_only_so_many_lines_and_the_next_says_how_many_are_missing(
    service: Answering, tmp_path: Path
) -> None:
    journal = tmp_path / "audit.log"
    audit = {"rate": "2/s", "file": str(journal)}
    with Stage(plan(service.url, rules=[ONCE], audit=audit)) as stage, stage.talk() as talk:
        names = [reply(talk).all("headgate-decision") for _ in range(6)][1:]
        stage.tick(1.0)
        names.append(reply(talk).all("headgate-decision"))
        lines = [json.loads(line) for line in journal.read_text().splitlines()]

    assert [line["decision"] for line in lines] == [*names[0], *names[1], *names[5]]
    assert [line.get("suppressed", 0) for line in lines] == [0, 0, 3]
    assert len({name for (name,) in names}) == 6


def test_a_file_that_is_gone_does_not_keep_anybody_from_being_refused(
    service: Answering, tmp_path: Path
) -> None:
    with Stage(plan(service.url, rules=[ONCE], audit={"file": "/dev/full"})) as stage:
        assert refused(stage).status == 429


def test_who_may_wait_is_let_in_when_it_fits(service: Answering) -> None:
    rule = {"name": "pace", "limit": {"rate": "1/s", "burst": 1}, "over": "wait 2s"}
    with Stage(plan(service.url, rules=[rule])) as stage, stage.talk() as talk:
        begun = stage.clock.now()
        for seconds in range(4):
            assert reply(talk).status == 200
            assert stage.clock.now() - begun == seconds * 1_000_000
        stage.rest(clients=1)


def test_who_would_wait_too_long_is_refused_at_once(service: Answering) -> None:
    with Stage(plan(service.url, rules=[{**ONCE, "over": "wait 2s"}])) as stage:
        begun = stage.clock.now()
        answer = refused(stage)

        assert (answer.status, answer.all("retry-after")) == (429, ["3600"])
        assert stage.clock.now() == begun


@pytest.mark.parametrize(
    ("over", "status", "headers", "body"),
    [
        (
            {"degrade": {"status": 203, "headers": {"X-Less": "yes"}, "body": "[]"}},
            203,
            {"x-less": "yes", "content-type": "application/json", "content-length": "2"},
            b"[]",
        ),
        ({"degrade": {"status": 204}}, 204, {"cache-control": "no-store"}, b""),
        ("redirect /busy", 302, {"location": "/busy", "content-length": "0"}, b""),
        ({"redirect": {"to": "/later", "status": 307}}, 307, {"location": "/later"}, b""),
        ("reject 418", 418, {"content-type": "application/problem+json"}, None),
    ],
)  # fmt: skip
def test_a_no_may_take_many_forms(
    over: Any, status: int, headers: dict[str, str], body: bytes | None, service: Answering
) -> None:
    with Stage(plan(service.url, rules=[{**ONCE, "over": over}])) as stage:
        answer = refused(stage)

    assert answer.status == status
    assert {name: answer.all(name) for name in headers} == {
        name: [value] for name, value in headers.items()
    }
    assert body is None or answer.body == body


def test_a_client_goes_on_after_a_no(service: Answering) -> None:
    with Stage(plan(service.url, rules=[ONCE])) as stage, stage.talk() as talk:
        assert [reply(talk).status for _ in range(3)] == [200, 429, 429]
        stage.clock.advance(3600.0)
        assert reply(talk).status == 200
        head = reply(talk, GET.replace(b"GET", b"HEAD"))
        assert (head.status, head.body) == (429, b"")
        assert stage.gateway.status()["refused"] == 3
        assert stage.gateway.status()["requests"] == 5


def test_nobody_is_let_in_where_a_rule_denies(service: Answering) -> None:
    rule = {"name": "no", "deny": {"status": 451, "body": "gone"}}
    before = len(service.heads)
    with Stage(plan(service.url, rules=[rule])) as stage, stage.talk() as talk:
        answer = reply(talk)

    assert (answer.status, answer.body) == (451, b"gone")
    assert len(service.heads) == before


@pytest.mark.parametrize(
    ("behind", "route", "status"),
    [
        ("fine", {}, 200),
        ("fine", {"match": {"path": "/other"}}, 404),
        ("closed", {}, 502),
        ("silent", {}, 504),
        ("full", {}, 503),
    ],
)
def test_every_answer_tells_how_limits_stand(
    behind: str, route: Any, status: int, service: Answering, server: Backing
) -> None:
    if behind == "closed":
        server.close()
    url = service.url if behind == "fine" else server.url
    upstream = {"retries": 0, "breaker": False, "connections": 1}
    rules = plan(url, rules=[MANY], route=route, upstream=upstream)
    with Stage(rules) as stage, stage.talk() as talk, stage.talk() as other:
        if behind == "full":
            asked(other, server)
        talk.send(GET)
        if behind == "silent":
            server.take().head()
            stage.tick(61.0)
        answer = answered(talk)

        left = 98 if behind == "full" else 99
        assert answer.status == status
        assert answer.all("ratelimit-policy") == ['"many";q=100;w=3600']
        assert answer.all("ratelimit")[0].startswith(f'"many";r={left};t=')


def test_what_a_server_says_of_its_own_limits_stays(server: Backing) -> None:
    with Stage(plan(server.url, rules=[MANY])) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(FINE.replace(b"\r\n\r\n", b'\r\nRateLimit: "own";r=5;t=5\r\n\r\n'))
        answer = answered(talk)

        assert [one.partition(";")[0] for one in answer.all("ratelimit")] == ['"own"', '"many"']


def test_a_rule_on_trial_refuses_nobody(service: Answering) -> None:
    with Stage(plan(service.url, rules=[{**ONCE, "mode": "shadow"}])) as stage:
        with stage.talk() as talk:
            assert [reply(talk).status for _ in range(3)] == [200, 200, 200]

        assert stage.gateway.status()["rules"]["once"] == {
            "passed": 3, "refused": 0, "shadowed": 2,
        }  # fmt: skip
