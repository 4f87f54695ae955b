"""What may be sent again is, to another server and within a budget; what may not is not."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import SECONDS

REPEATABLE = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]
SINGULAR = ["POST", "PATCH"]


@pytest.fixture
def servers() -> Iterator[tuple[Backing, Backing]]:
    with Backing() as one, Backing() as two:
        yield one, two


def staged(*servers: Backing, **said: Any) -> Stage:
    upstream = {"breaker": False, **said.pop("upstream", {})}
    return Stage(plan(*(server.url for server in servers), upstream=upstream, **said))


def request(method: str, body: bytes = b"") -> bytes:
    head = f"{method} /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def taken(server: Backing, body: bytes = b"") -> Caller:
    """A connection on which a request has come in whole."""
    caller = server.take()
    caller.head()
    assert caller.read(len(body)) == body
    return caller


@pytest.mark.parametrize("method", REPEATABLE + SINGULAR)
def test_what_was_not_sent_at_all_goes_to_another_server(
    method: str, servers: tuple[Backing, Backing]
) -> None:
    servers[0].close()
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(request(method, b"body"))
        taken(servers[1], b"body").say(FINE)

        assert answered(talk, method).status == 200
        stage.rest(clients=1)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nX-"], ids=["nothing", "half a head"])
@pytest.mark.parametrize("method", REPEATABLE)
def test_what_may_be_done_twice_is_sent_to_another_server(
    method: str, said: bytes, servers: tuple[Backing, Backing]
) -> None:
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(request(method, b"body"))
        first = taken(servers[0], b"body")
        first.say(said, turn=stage.turn)
        first.reset()
        taken(servers[1], b"body").say(FINE)

        assert answered(talk, method).status == 200
        stage.rest(clients=1)


@pytest.mark.parametrize("method", SINGULAR)
def test_what_may_not_be_done_twice_is_not(method: str, servers: tuple[Backing, Backing]) -> None:
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(request(method, b"body"))
        taken(servers[0], b"body").reset()

        assert answered(talk).status == 502
        assert not servers[1].asked()
        stage.rest(clients=1)


def test_chunks_are_sent_again_as_they_came(servers: tuple[Backing, Backing]) -> None:
    body = b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(b"PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        taken(servers[0], body).reset()
        taken(servers[1], body).say(FINE)

        assert answered(talk).status == 200


@pytest.mark.parametrize(
    ("framing", "start", "end"),
    [
        (b"Content-Length: 100000", b"", b""),
        (b"Transfer-Encoding: chunked", b"186a0\r\n", b"\r\n0\r\n\r\n"),
    ],
    ids=["length", "chunks"],
)
def test_a_body_too_long_to_be_kept_is_not_sent_again(
    framing: bytes, start: bytes, end: bytes, servers: tuple[Backing, Backing]
) -> None:
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(b"PUT /a HTTP/1.1\r\nHost: a\r\n%b\r\n\r\n" % framing)
        first = taken(servers[0])
        talk.send(start, b"x" * 100_000, end)
        first.read(100_000)
        first.reset()

        assert answered(talk).status == 502
        assert not servers[1].asked()
        stage.rest(clients=1)


def test_what_is_not_whole_is_not_sent_again(servers: tuple[Backing, Backing]) -> None:
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(request("PUT", b"body")[:-1])
        taken(servers[0], b"bod").reset()

        answer = answered(talk)
        assert (answer.status, answer.all("connection")) == (502, ["close"])
        assert not servers[1].asked()


def test_an_answer_that_has_begun_is_not_asked_for_again(servers: tuple[Backing, Backing]) -> None:
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(request("GET"))
        first = taken(servers[0])
        first.say(FINE[:-1], turn=stage.turn)
        first.reset()

        assert talk.rest().endswith(b"\r\n\r\nfin")
        assert not servers[1].asked()
        stage.rest()


@pytest.mark.parametrize(
    ("upstream", "route", "tries"),
    [
        ({"retries": 0}, {}, 1),
        ({"retries": 1}, {}, 2),
        ({"retries": 2}, {}, 3),
        ({"retries": 2}, {"retries": 0}, 1),
        ({"retries": 0}, {"retries": 2}, 3),
    ],
)
def test_it_is_tried_as_often_as_the_terms_say(
    upstream: Any, route: Any, tries: int, servers: tuple[Backing, Backing]
) -> None:
    with staged(*servers, upstream=upstream, route=route) as stage, stage.talk() as talk:
        talk.send(request("GET"))
        for number in range(tries):
            taken(servers[number % 2]).reset()

        assert answered(talk).status == 502
        assert not servers[0].asked()
        assert not servers[1].asked()
        stage.rest(clients=1)


@pytest.mark.parametrize(("calls", "retries"), [(0, 3), (15, 3), (50, 10)])
def test_no_more_are_sent_again_than_the_budget_has(
    calls: int, retries: int, servers: tuple[Backing, Backing]
) -> None:
    one, two = servers
    with staged(one, upstream={"retries": {"most": 1, "budget": "20%"}}) as stage:
        with stage.talk() as talk:
            for number in range(calls):
                talk.send(request("GET"))
                caller = taken(one) if number == 0 else one.callers[0]
                if number:
                    caller.head()
                caller.say(FINE)
                assert answered(talk).status == 200
        stage.clear()
        again = 0
        for _ in range(retries + 2):
            with stage.talk() as talk:
                talk.send(request("GET"))
                taken(one).reset()
                # Either it is asked once more, or there is an answer.
                ready, _, _ = select.select([one.listener, talk.socket], [], [], SECONDS)
                if one.listener in ready:
                    taken(one).reset()
                    again += 1
                assert answered(talk).status == 502

        assert again == retries


@pytest.mark.parametrize("method", REPEATABLE)
@pytest.mark.parametrize("stale", [1, 3])
@pytest.mark.parametrize("most", [1, 2])
def test_connections_that_were_just_closed_are_no_fault(
    method: str, stale: int, most: int, servers: tuple[Backing, Backing]
) -> None:
    """A server that closes what is idle does so whenever it likes, also while it is asked."""
    one, _ = servers
    with staged(one, upstream={"retries": most}) as stage:
        talks = [stage.talk() for _ in range(stale)]
        callers = []
        for talk in talks:
            talk.send(request("GET"))
            # One after another: else they may come in another order.
            callers.append(taken(one))
        for talk, caller in zip(talks, callers, strict=True):
            caller.say(FINE)
            assert answered(talk).status == 200
        talks[0].send(request(method))
        callers[-1].head()
        callers[-1].reset()
        taken(one).say(FINE)

        assert answered(talks[0], method).status == 200
        # Those that were idle for longer are not believed either.
        for caller in callers[:-1]:
            caller.ended()
        for talk in talks:
            talk.socket.close()
        stage.rest()


def test_what_may_not_be_done_twice_is_not_on_a_stale_connection(
    servers: tuple[Backing, Backing],
) -> None:
    one, _ = servers
    with staged(one) as stage, stage.talk() as talk:
        talk.send(request("GET"))
        caller = taken(one)
        caller.say(FINE)
        answered(talk)
        talk.send(request("POST"))
        caller.head()
        caller.reset()

        assert answered(talk).status == 502


def test_a_request_to_turn_to_another_protocol_is_not_sent_again(
    servers: tuple[Backing, Backing],
) -> None:
    turn = b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    with staged(*servers) as stage, stage.talk() as talk:
        talk.send(b"GET /a HTTP/1.1\r\nHost: a\r\n" + turn)
        taken(servers[0]).reset()

        assert answered(talk).status == 502
        assert not servers[1].asked()


@pytest.mark.parametrize("method", SINGULAR)
def test_a_connection_whose_end_comes_together_with_a_request_is_not_used(
    method: str, servers: tuple[Backing, Backing]
) -> None:
    rules = [{"name": "all", "limit": "1000/s"}]
    with staged(servers[0], rules=rules) as stage, stage.talk() as talk:
        talk.send(request("GET"))
        caller = taken(servers[0])
        caller.say(FINE)
        assert answered(talk).status == 200

        async def together() -> None:
            # The gateway does not look before both are there, and at the server first.
            caller.line.close()
            talk.socket.sendall(request(method, b"body"))

        stage.call(together())
        taken(servers[0], b"body").say(FINE)

        assert answered(talk).status == 200
