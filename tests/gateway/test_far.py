"""Rules that count on a server: every request asks it once, and goes on when it has answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules.model.rules import Rules
from tests.gateway.answering import Answering
from tests.gateway.staging import Stage, answered
from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.waiting import until

GET = b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n"
CLOCKS = {"given": ManualClock(1_000_000.0), "the server's": None}


def plan(service: Answering, store: str, **rule: Any) -> Rules:
    return Rules.read(
        json.dumps(
            {
                "version": 1,
                "store": f"{store}?budget=5",
                "rules": [{"name": "few", "key": "client.ip", "limit": "3/h", **rule}],
                "gateway": {"listen": "127.0.0.1:0", "routes": [{"upstream": service.url}]},
            }
        )
    )


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=[*CLOCKS])
def test_a_limit_is_exact_whoever_asks(clock: Any, valkey: Server, service: Answering) -> None:
    rules = plan(service, valkey.url)
    before = len(service.heads)
    with Stage(rules, clock=clock) as one, Stage(rules, clock=clock) as two:
        talks = [stage.talk() for stage in (one, two, one, two)]
        told = []
        for talk in talks:
            # The second waits for its turn in the gateway, not at the server that counts.
            talk.send(GET + GET)
            told += [answered(talk), answered(talk)]
        for talk in talks:
            talk.socket.close()
        one.rest()
        two.rest()

    assert [answer.status for answer in told] == [200] * 3 + [429] * 5
    assert dict(told[2].headers)["ratelimit"].startswith('"few";r=0')
    assert len(service.heads) == before + 3


def test_who_comes_at_once_is_counted_at_once(valkey: Server, service: Answering) -> None:
    with Stage(plan(service, valkey.url, limit="20/h"), clock=None) as stage:
        talks = [stage.talk() for _ in range(40)]
        for talk in talks:
            talk.send(GET)
        statuses = [answered(talk).status for talk in talks]
        for talk in talks:
            talk.socket.close()
        stage.rest()

    assert sorted(statuses) == [200] * 20 + [429] * 20


@pytest.mark.parametrize(
    ("when", "statuses"),
    [("allow", [200] * 4), ("deny", [503] * 4), ("local", [200, 200, 200, 429])],
)
def test_without_its_server_a_rule_does_as_it_says(
    when: str, statuses: list[int], proxy: Proxy, service: Answering
) -> None:
    with Stage(plan(service, proxy.url, when_unavailable=when)) as stage, stage.talk() as talk:
        talk.send(GET)
        assert answered(talk).status == 200
        proxy.refuse()
        proxy.reset()
        for status in statuses:
            talk.send(GET)
            assert answered(talk).status == status
        talk.socket.close()
        stage.rest()


def test_who_leaves_while_the_server_is_asked_leaves_nothing(
    proxy: Proxy, service: Answering
) -> None:
    with Stage(plan(service, proxy.url)) as stage:
        with stage.talk() as talk:
            talk.send(GET)
            assert answered(talk).status == 200
            before = len(service.heads)
            proxy.latency(1.0)
            asked = proxy.asked
            talk.send(GET)
            until(lambda: proxy.asked > asked, "the server to be asked")
        stage.rest()
        proxy.heal()
        with stage.talk() as talk:
            talk.send(GET)
            # The one that left was counted all the same.
            assert dict(answered(talk).headers)["ratelimit"].startswith('"few";r=0')

    assert len(service.heads) == before + 1
