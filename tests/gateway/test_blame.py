"""What a server's breaker is told: whose doing it was that a request failed, or took so long."""

from __future__ import annotations

import os
import resource
from typing import Any

import pytest

from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, ROOM, Leap, Stage, answered, plan
from tests.gateway.talking import Talk
from tests.servers.waiting import until

TERMS = {"failures": 0.5, "calls": 3, "pause": "10s", "window": "10min"}
SLOW = {**TERMS, "slow_after": "5s", "slow": 0.5}
ASK = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
UPGRADE = b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"
# More than the machine and the gateway keep for a client.
SIZE = 20_000_000


def fused(server: Backing, terms: Any = TERMS, rules: Any = (ROOM,), **said: Any) -> Any:
    """Rules with a server behind a breaker that opens after three failures."""
    upstream = {"breaker": terms, "retries": {"most": 1, "budget": "100%"}}
    return plan(server.url, upstream=upstream, rules=rules, **said)


def state(stage: Stage) -> dict[str, Any]:
    """What is known of the only server."""
    [server] = stage.gateway.status()["upstreams"]["one"].values()
    return {name: server[name] for name in ("failures", "breaker")}


def test_a_download_that_rules_slow_down_beyond_its_time_is_no_fault_of_the_server(
    server: Backing,
) -> None:
    slow = {"name": "slow", "bandwidth": "1KB/h"}
    rules = fused(server, rules=(ROOM, slow), route={"timeouts": {"total": "5s"}})
    with Stage(rules, clock=Leap()) as stage:
        for _ in range(3):
            with stage.talk() as talk:
                talk.send(ASK)
                caller = server.take()
                caller.head()
                caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000)
                begun = talk.receive()
                until(lambda: stage.held().busy == 0, "all of it to be here")
                stage.tick(6.0)

                assert len(begun + talk.rest()) < 5000
                caller.close()
            stage.rest()

        assert state(stage) == {"failures": 0, "breaker": "closed"}


def test_a_client_that_spoils_its_own_body_closes_no_breaker(server: Backing) -> None:
    with Stage(fused(server)) as stage:
        for _ in range(3):
            with stage.talk() as talk:
                talk.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
                caller = server.take()
                caller.head()
                caller.reset()
                assert answered(talk).status == 502
            stage.rest()
        assert state(stage) == {"failures": 3, "breaker": "open"}
        stage.tick(13.0)
        with stage.talk() as talk:
            talk.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            server.take().head()
            talk.send(b"ZZ\r\n")
            assert answered(talk).status == 400
        stage.rest()

        assert state(stage) == {"failures": 3, "breaker": "half_open"}


def test_a_connection_that_was_just_closed_is_no_fault(server: Backing) -> None:
    with Stage(fused(server, rules=())) as stage, stage.talk() as talk:
        talk.send(ASK)
        caller = server.take()
        for _ in range(3):
            caller.head()
            caller.say(FINE)
            assert answered(talk).status == 200
            talk.send(ASK)
            caller.head()
            caller.reset()
            caller = server.take()
        caller.head()
        caller.say(FINE)

        assert answered(talk).status == 200
        assert state(stage) == {"failures": 0, "breaker": "closed"}


def visited(stage: Stage, server: Backing, way: str) -> None:
    """One visit that takes ten seconds or more, whoever it is that takes its time."""
    with stage.talk() as talk:
        if way == "websocket":
            talk.send(b"GET / HTTP/1.1\r\nHost: a\r\n" + UPGRADE)
            caller = server.take()
            caller.head()
            caller.say(b"HTTP/1.1 101 Switching Protocols\r\n" + UPGRADE)
            talk.upto(b"\r\n\r\n")
            stage.tick(60.0)
        elif way == "upload":
            talk.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfi")
            caller = server.take()
            caller.head()
            stage.tick(10.0)
            talk.send(b"ne")
            caller.read(4)
            caller.say(FINE)
            assert answered(talk).status == 200
        elif way == "download":
            talk.send(ASK)
            caller = server.take()
            caller.head()
            caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
            drained(stage, talk, caller)
        else:
            talk.send(ASK)
            caller = server.take()
            caller.head()
            stage.tick(10.0)
            caller.say(FINE)
            assert answered(talk).status == 200
        caller.close()
    stage.rest()


def drained(stage: Stage, talk: Talk, caller: Any) -> None:
    """The client takes nothing in for ten seconds, and then all there is."""
    talk.upto(b"\r\n\r\n")
    caller.line.setblocking(False)
    sent = seen = 0
    while not stage.full():
        sent += poured(caller, SIZE - sent)
        stage.turn()
    stage.tick(10.0)
    talk.socket.setblocking(False)
    while seen < SIZE:
        sent += poured(caller, SIZE - sent)
        stage.turn()
        try:
            seen += len(talk.socket.recv(1 << 20))
        except BlockingIOError:
            continue


def poured(caller: Any, most: int) -> int:
    """How many bytes more have gone."""
    try:
        return int(caller.line.send(b"x" * min(most, 1 << 18))) if most else 0
    except BlockingIOError:
        return 0


@pytest.mark.parametrize("where", ["upstream", "rule"])
@pytest.mark.parametrize(
    ("way", "breaker"),
    [
        ("websocket", "closed"),
        ("upload", "closed"),
        ("download", "closed"),
        ("server", "open"),
    ],
)
def test_only_what_a_server_takes_is_slow(
    way: str, breaker: str, where: str, server: Backing
) -> None:
    rule = {"name": "fuse", "breaker": SLOW, "over": {"reject": {"status": 503}}}
    rules = fused(server, SLOW) if where == "upstream" else fused(server, False, (ROOM, rule))
    with Stage(rules) as stage:
        for _ in range(3):
            visited(stage, server, way)
        if where == "upstream":
            assert state(stage) == {"failures": 0, "breaker": breaker}
            return
        with stage.talk() as talk:
            talk.send(ASK)
            if breaker == "closed":
                caller = server.take()
                caller.head()
                caller.say(FINE)
            assert answered(talk).status == (200 if breaker == "closed" else 503)


def test_time_that_another_server_took_is_not_counted(server: Backing) -> None:
    with Backing() as second:
        upstream = {"breaker": SLOW, "retries": {"most": 1, "budget": "100%"}}
        with Stage(plan(server.url, second.url, upstream=upstream)) as stage:
            for _ in range(3):
                with stage.talk() as talk:
                    talk.send(ASK)
                    caller = server.take()
                    caller.head()
                    stage.tick(10.0)
                    caller.reset()
                    caller = second.take()
                    caller.head()
                    caller.say(FINE)
                    assert answered(talk).status == 200
                    caller.close()
                stage.rest()
            servers = stage.gateway.status()["upstreams"]["one"]

        assert [one["breaker"] for one in servers.values()] == ["open", "closed"]


def test_that_files_run_out_here_is_no_fault_of_a_server(server: Backing) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Stage(fused(server)) as stage, stage.talk() as talk:
        talk.send(b"GET / HTTP/1.1\r\n")
        for _ in range(4):
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
            try:
                talk.send(b"Host: a\r\n\r\n")
                answer = answered(talk)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert (answer.status, answer.all("retry-after")) == (503, ["1"])
            talk.send(b"GET / HTTP/1.1\r\n")

        assert state(stage) == {"failures": 0, "breaker": "closed"}
        stage.rest(clients=1)
