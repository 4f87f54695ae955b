"""Rules that hold on to something: a place, an answer, a breaker, the pace of a body."""

from __future__ import annotations

import asyncio

import pytest

from headgate import ManualClock
from tests.gateway.answering import Answering
from tests.gateway.asking import GET, asked, reply, served
from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, ROOM, Leap, Stage, answered, plan
from tests.gateway.talking import Talk

ONCE = {"name": "once", "limit": {"rate": "1/h", "burst": 1}}
KEEPING = {**ONCE, "over": {"degrade": {"body": "later", "stale": "10min"}}}
# As much as flows in 50 ms.
PIECE = 5_000
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
TERMS = {"failures": 0.5, "calls": 3, "pause": "10s", "window": "10min"}
BREAKING = {"name": "fuse", "breaker": TERMS}


@pytest.mark.parametrize(
    "answer",
    [
        PAGE + b"Content-Length: 9\r\n\r\nsome body",
        PAGE + b"Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n",
        PAGE + b"Content-Length: 9\r\nConnection: close\r\n\r\nsome body",
    ],
)
def test_the_last_good_answer_is_given_again(answer: bytes, server: Backing) -> None:
    with Stage(plan(server.url, rules=[KEEPING])) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(answer)
        first = answered(talk)
        assert first.body == b"some body"
        stage.rest(clients=1)
        again = reply(talk)
        assert (again.status, again.body) == (200, b"some body")
        assert again.all("content-type") == ["text/plain"]
        # Not for ever, and not for others.
        other = reply(talk, GET.replace(b"/a", b"/b"))
        assert other.body == b"later"
        stage.clock.advance(601.0)
        assert reply(talk).body == b"later"


def test_an_answer_is_not_given_again_to_who_goes_elsewhere(server: Backing) -> None:
    routes = [{"upstream": "one", "match": {"header.x-tenant": "a"}}, {"upstream": "two"}]
    tenant = GET.replace(b"Host", b"X-Tenant: a\r\nHost")
    with Backing() as other:
        upstreams = {"one": server.url, "two": other.url}
        rules = plan(rules=[KEEPING], upstreams=upstreams, routes=routes)
        with Stage(rules) as stage, stage.talk() as talk:
            asked(talk, server, tenant).say(PAGE + b"Content-Length: 6\r\n\r\nsecret")
            assert answered(talk).body == b"secret"
            stage.rest(clients=1)

            assert reply(talk).body == b"later"
            assert reply(talk, tenant).body == b"secret"


@pytest.mark.parametrize("status", [b"200 OK", b"500 Oh"])
def test_an_answer_that_was_not_good_is_not_given_again(status: bytes, server: Backing) -> None:
    with Stage(plan(server.url, rules=[KEEPING])) as stage:
        with stage.talk() as talk:
            caller = asked(talk, server)
            whole = PAGE.replace(b"200 OK", status) + b"Content-Length: 9\r\n\r\nsome body"
            # A bad one that is whole, or a good one that is not.
            caller.say(whole[:-1] if status == b"200 OK" else whole, turn=stage.turn)
            caller.close()
            talk.finish()
        stage.rest()
        with stage.talk() as talk:
            assert reply(talk).body == b"later"


def test_a_place_is_given_back_with_the_last_byte(server: Backing) -> None:
    with (
        Stage(plan(server.url, rules=[{"name": "one", "concurrent": 1}])) as stage,
        stage.talk() as talk,
        stage.talk() as other,
    ):
        caller = asked(talk, server)
        caller.say(FINE[:-1], turn=stage.turn)
        full = reply(other)
        assert (full.status, full.all("ratelimit")) == (503, [])
        caller.say(FINE[-1:])
        first = answered(talk)
        assert first.all("ratelimit-policy") == ['"one";q=1;qu="concurrent-requests"']
        stage.rest(clients=2)


def test_a_limit_that_finds_itself_refuses_what_is_above_it(server: Backing) -> None:
    rule = {"name": "self", "adaptive": {"by": "aimd", "initial": 1, "floor": 1, "ceiling": 1}}
    with (
        Stage(plan(server.url, rules=[rule])) as stage,
        stage.talk() as talk,
        stage.talk() as other,
    ):
        caller = asked(talk, server)
        assert reply(other).status == 503
        caller.say(FINE)
        assert answered(talk).status == 200
        stage.rest(clients=2)
        stage.clear()
        assert served(other, server).status == 200


@pytest.mark.parametrize(
    "fault", ["a bad status", "a broken head", "a broken body", "a body that stalls"]
)
def test_failures_open_a_breaker(fault: str, server: Backing) -> None:
    rules = plan(
        server.url, rules=[BREAKING], upstream={"breaker": False, "retries": 0, "idle": "0s"}
    )
    with Stage(rules) as stage:
        for _ in range(3):
            with stage.talk() as talk:
                fail(fault, stage, talk, asked(talk, server))
            stage.rest()
        with stage.talk() as talk:
            reopens(stage, talk, server)


def fail(fault: str, stage: Stage, talk: Talk, caller: Caller) -> None:
    """Answer badly."""
    if fault == "a bad status":
        caller.say(FINE.replace(b"200 OK", b"500 Oh"))
        assert answered(talk).status == 500
    elif fault == "a broken head":
        caller.close()
        assert answered(talk).status == 502
    else:
        caller.say(FINE[:-1], turn=stage.turn)
        caller.close() if fault == "a broken body" else stage.tick(61.0)
        assert talk.rest().endswith(b"\r\n\r\nfin")


def reopens(stage: Stage, talk: Talk, server: Backing) -> None:
    """Nobody gets through for as long as is said, and then they do."""
    answer = reply(talk)
    assert answer.status == 503
    assert 10 <= int(answer.all("retry-after")[0]) <= 12
    assert not server.asked()
    stage.tick(13.0)
    assert served(talk, server).status == 200


def test_a_client_that_leaves_opens_no_breaker(server: Backing) -> None:
    with Stage(plan(server.url, rules=[BREAKING])) as stage:
        for _ in range(5):
            with stage.talk() as talk:
                asked(talk, server)
            stage.rest()
        with stage.talk() as talk:
            assert served(talk, server).status == 200


def test_a_server_that_keeps_failing_is_left_alone_for_a_while(server: Backing) -> None:
    upstream = {"breaker": TERMS, "retries": 0}
    with Stage(plan(server.url, upstream=upstream)) as stage, stage.talk() as talk:
        for _ in range(3):
            fail("a broken head", stage, talk, asked(talk, server))
        reopens(stage, talk, server)
        stage.rest(clients=1)


@pytest.mark.parametrize(
    ("bandwidth", "burst"), [("100KB/s", 100_000), ("100KB/s burst 5KB", 5_000)]
)
def test_an_answer_flows_evenly(bandwidth: str, burst: int) -> None:
    """At 100 KB/s, a megabyte takes ten seconds, and no second of them has more or less."""
    size, rate = 1_000_000, 100_000
    body = FINE.replace(b"4\r\n\r\nfine", b"%d\r\n\r\n" % size) + b"x" * size
    slow = {"name": "slow", "bandwidth": bandwidth}
    with Answering(lambda head: body) as service, Stage(plan(service.url, rules=[slow])) as stage:
        moments = stage.call(sip(stage.port, stage.clock, size))

    # What comes at once comes first; from then on, nobody is ahead or behind by more than a piece.
    moments = [(moment, total) for moment, total in moments if total >= burst]
    begun, first = moments[0]
    for moment, total in moments:
        assert abs(total - first - rate * (moment - begun) / 1e6) <= PIECE
    took = (moments[-1][0] - begun) / 1e6
    assert first <= burst + PIECE
    assert moments[-1][1] == size
    assert abs(took - (size - first) / rate) <= 0.02 * took


async def sip(port: int, clock: ManualClock, size: int) -> list[tuple[int, int]]:
    """Get an answer in the gateway's own loop: when which byte of its body came, on its clock."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(GET)
    await reader.readuntil(b"\r\n\r\n")
    moments: list[tuple[int, int]] = []
    total = 0
    while total < size:
        total += len(await reader.read(1 << 16))
        if moments and moments[-1][0] == clock.now():
            moments.pop()
        moments.append((clock.now(), total))
    writer.close()
    return moments


def test_who_is_held_back_is_not_late(server: Backing) -> None:
    """However long a rule takes over an answer: nobody but the rule has to be waited for."""
    slow = {"name": "slow", "bandwidth": "1KB/h"}
    rules = plan(server.url, rules=[ROOM, slow])
    with Stage(rules, clock=Leap()) as stage:
        with stage.talk() as talk:
            caller = asked(talk, server)
            caller.say(FINE.replace(b"4\r\n\r\nfine", b"5000\r\n\r\n") + b"x" * 4000)
            talk.receive()
            stage.rest(clients=1, busy=1, places=1, errands=1)
            stage.tick(290.0)
            stage.rest(clients=1, busy=1, places=1, errands=1)
            # But the whole has its time, too.
            stage.tick(20.0)
            talk.rest()
        stage.rest()
