"""What people expect of limits at the edge, whichever proxy they come from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headgate import SharedStore
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from tests.gateway.backing import Backing
from tests.gateway.running import Running
from tests.gateway.staging import Stage, plan
from tests.gateway.talking import Answer, Talk
from tests.servers.launch import Server
from tests.servers.waiting import until
from tests.workers.service import Service

NEAR = {"trusted_proxies": "127.0.0.1/32"}
MILLION = 1_000_000


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as found:
        yield found


def line(path: str = "/", client: str = "") -> bytes:
    """A request, of a client that a proxy on this machine brings."""
    brought = f"x-forwarded-for: {client}\r\n" if client else ""
    return f"GET {path} HTTP/1.1\r\nhost: a.test\r\n{brought}\r\n".encode()


def ask(port: int, path: str = "/", client: str = "") -> Answer:
    with Talk(port) as talk:
        talk.send(line(path, client))
        answer = talk.hear()
    assert answer is not None
    return answer


def statuses(stage: Stage, times: int) -> list[int]:
    return [ask(stage.port).status for _ in range(times)]


@pytest.mark.parametrize(
    ("limit", "first", "pause"),
    [
        # rate=2r/s burst=3 nodelay: three beyond the first.
        ("2/s burst 4", [200] * 4 + [429] * 2, 0.5),
        ("2/s burst 1", [200, 429], 0.5),
        ("30/min burst 1", [200, 429], 2.0),
        ("10/min burst 1", [200, 429], 6.0),
    ],
)
def test_a_rate_for_each_address(
    limit: str, first: list[int], pause: float, service: Service
) -> None:
    rule = {"name": "mylimit", "key": "client.ip", "limit": limit}
    with Stage(plan(service.url, rules=[rule])) as stage:
        at_once = statuses(stage, len(first))
        stage.tick(pause - 0.001)
        before = statuses(stage, 1)
        stage.tick(0.001)
        after = statuses(stage, 2)

    assert (at_once, before, after) == (first, [429], [200, 429])


def test_who_may_wait_is_let_in_one_by_one(service: Service) -> None:
    rule = {"name": "orders", "key": "client.ip", "limit": "2/s burst 1", "over": "wait 1.5s"}
    with Stage(plan(service.url, rules=[rule])) as stage:
        begun = stage.clock.now()
        found = statuses(stage, 4)
        took = stage.clock.now() - begun

    # A wait moves this clock.
    assert (found, took) == ([200] * 4, 1.5 * MILLION)


@pytest.mark.parametrize(
    ("over", "status", "header", "body"),
    [
        ("reject", 429, ("retry-after", "60"), b""),
        ("reject 503", 503, ("retry-after", "60"), b""),
        ("redirect /busy", 302, ("location", "/busy"), b""),
        ({"degrade": {"body": "in stock"}}, 200, ("content-length", "8"), b"in stock"),
    ],
)
def test_what_happens_to_whom_it_is_too_much_for_is_the_rules(
    over: Any, status: int, header: tuple[str, str], body: bytes, service: Service
) -> None:
    rule = {"name": "one", "limit": "1/min", "over": over}
    with Stage(plan(service.url, rules=[rule])) as stage:
        allowed, refused = ask(stage.port), ask(stage.port)

    assert allowed.status == 200
    assert allowed.all("ratelimit") == ['"one";r=0;t=60']
    assert (refused.status, header in refused.headers) == (status, True)
    assert refused.body.startswith(body)


def test_a_client_and_all_together_have_places_of_their_own(service: Service) -> None:
    rules = [
        {"name": "perip", "key": "client.ip", "concurrent": 2},
        {"name": "perserver", "concurrent": 3},
    ]
    with Stage(plan(service.url, rules=rules, client=NEAR)) as stage, ExitStack() as stack:
        # Who has said nothing, or not all of its head, has no place yet.
        for part in (b"", b"GET /slow HTTP/1.1\r\nhost: a.test\r\n") * 3:
            stack.enter_context(stage.talk()).send(part)
        inside = [stack.enter_context(stage.talk()) for _ in range(3)]
        before = service.held
        for talk, client in zip(inside, ("192.0.2.1", "192.0.2.1", "192.0.2.2"), strict=True):
            talk.send(line("/slow", client))
        until(lambda: service.held == before + 3, "all to be inside")
        third = ask(stage.port, client="192.0.2.1")
        fourth = ask(stage.port, client="192.0.2.3")
        service.release()
        heard = [talk.hear() for talk in inside]
        stage.rest(clients=9)
        later = ask(stage.port, client="192.0.2.1")

    assert [third.status, fourth.status, later.status] == [429, 503, 200]
    assert json.loads(third.body)["violated-policies"] == ["perip"]
    assert json.loads(fourth.body)["violated-policies"] == ["perserver"]
    assert [answer.status if answer else 0 for answer in heard] == [200] * 3


def test_a_service_that_hangs_has_only_its_own_connections(service: Service) -> None:
    with Backing() as hanging:
        said = {
            "version": 1,
            "gateway": {
                "listen": "127.0.0.1:0",
                "upstreams": {"hanging": {"servers": hanging.url, "connections": 2}},
                "routes": [
                    {"match": {"path": "/a"}, "upstream": "hanging"},
                    {"upstream": service.url},
                ],
            },
            "rules": [{"name": "all", "limit": "1000/s"}],
        }
        with Stage(Rules.read(json.dumps(said))) as stage, ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(stage.talk()).send(line("/a"))
                hanging.take().head()
            full, other = ask(stage.port, "/a"), ask(stage.port, "/b")

    assert (full.status, full.all("retry-after"), other.status) == (503, ["1"], 200)


def test_a_download_has_the_bytes_of_its_client_and_not_of_its_own(service: Service) -> None:
    rule = {"name": "pipe", "key": "client.ip", "bandwidth": "100KB/s"}
    took = []
    with Backing() as server, Stage(plan(server.url, rules=[rule])) as stage:
        for size in (150_000, 50_000):
            begun = stage.clock.now()
            with stage.talk() as talk:
                talk.send(line("/file"))
                caller = server.take()
                caller.head()
                caller.say(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")
                caller.say(b"content-length: %d\r\n\r\n" % size + bytes(size))
                answer = talk.hear()
            assert answer is not None
            took.append((len(answer.body), stage.clock.now() - begun))

    # The first 100 KB come at once, and only the first time.
    assert took == [(150_000, 0.5 * MILLION), (50_000, 0.5 * MILLION)]


def test_a_refusal_is_written_down_under_the_name_that_its_client_was_told(
    tmp_path: Path, service: Service
) -> None:
    file = tmp_path / "refused.log"
    rule = {"name": "few", "key": "client.ip", "limit": "1/min"}
    rules = plan(service.url, rules=[rule], audit={"rate": "1/min", "file": str(file)})
    with Stage(rules) as stage:
        answers = [ask(stage.port, "/a?secret=1") for _ in range(4)]
        stage.tick(60.0)
        answers += [ask(stage.port, "/b") for _ in range(2)]
        lines = [json.loads(one) for one in file.read_text().splitlines()]
        version = stage.gateway.keeper.version

    assert [answer.status for answer in answers] == [200, 429, 429, 429, 200, 429]
    told = [answer.all("headgate-decision") for answer in answers]
    assert lines[0] == {
        "time": "1970-01-12T13:46:40+00:00", "decision": told[1][0], "rule": "few",
        "kind": "limit", "status": 429, "client": "127.0.0.1", "method": "GET", "host": "a.test",
        "path": "/a", "retry_after": 60.0, "version": version, "reason": "limit", "policy": "few",
        "key_source": "client.ip", "key": "127.0.0.1", "terms": "", "full": "", "cost": 1,
        "limit": 1, "remaining": 0, "reset": 60.0, "degraded": False, "waited": 0.0,
        "shadowed": [], "store": "memory://",
    }  # fmt: skip
    # Whoever floods the gateway does not flood its log.
    assert [(one["decision"], one.get("suppressed", 0)) for one in lines[1:]] == [(told[5][0], 2)]
    assert len({name for names in told for name in names}) == 4


def test_gateways_on_one_server_count_together(valkey: Server, service: Service) -> None:
    rules = plan(service.url, rules=[{"name": "fleet", "key": "client.ip", "limit": "5/min"}])
    # It is the server that decides, however late the machine is.
    store = f"{valkey.url}?budget=20"
    with Running(rules, store=store) as one, Running(rules, store=store) as other:
        found = [ask(gateway.port).status for _ in range(4) for gateway in (one, other)]

    assert found == [200] * 5 + [429] * 3


def test_the_same_rules_at_the_edge_and_in_the_service_count_together(service: Service) -> None:
    rules = plan(service.url, rules=[{"name": "both", "key": "client.ip", "limit": "5/min"}])
    store = SharedStore(f"test-edge-{os.getpid()}")
    url = f"shared://{store.name}"
    keeper = Gatekeeper(rules, url)
    try:
        with Running(rules, store=url) as running:
            edge = [ask(running.port).status for _ in range(3)]
            inside = [bool(keeper.enter(Request("GET", "/", client="127.0.0.1"))) for _ in range(3)]
            last = ask(running.port).status
    finally:
        keeper.close()
        store.remove()

    assert (edge, inside, last) == ([200] * 3, [True, True, False], 429)
