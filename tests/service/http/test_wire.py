"""How requests come in and answers go out: however they are cut, and whatever else is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.rules.model.port import Port
from headgate.service.http.reception import receive
from tests.gateway.talking import Talk, single, split, whole
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.staging import asked, posted, problem, told

Cut = Callable[[bytes], list[bytes]]

A = {"rule": "api", "key": "a"}
TAKE = posted("/v1/take", A)
PEEK = posted("/v1/peek", A)
HEALTH = asked("GET", "/health")
BODY = json.dumps(A).encode()
CHUNKED = (
    b"POST /v1/take HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def chunks(body: bytes, size: int) -> bytes:
    """A body in chunks."""
    parts = [body[place : place + size] for place in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize("cut", [whole, single])
def test_requests_on_one_connection_are_answered_in_their_order(stage: Stage, cut: Cut) -> None:
    with stage.talk() as talk:
        talk.send(*cut(TAKE + HEALTH + TAKE + asked("GET", "/nope") + PEEK))
        answers = [talk.hear() for _ in range(5)]

        assert [answer.status for answer in answers] == [200, 200, 200, 404, 200]
        assert [told(answers[place])["remaining"] for place in (0, 2, 4)] == [99, 98, 98]
        assert talk.finish() == b""


@pytest.mark.parametrize("place", range(1, len(TAKE), 7))
def test_a_request_may_be_cut_anywhere(stage: Stage, place: int) -> None:
    with stage.talk() as talk:
        talk.send(*split(TAKE, place))

        assert talk.hear().status == 200


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("cut", [whole, single])
def test_a_body_may_come_in_chunks(stage: Stage, size: int, cut: Cut) -> None:
    with stage.talk() as talk:
        talk.send(*cut(CHUNKED + chunks(BODY, size) + HEALTH))

        assert (told(talk.hear())["remaining"], talk.hear().status) == (99, 200)


def test_chunks_may_wait_for_their_turn(stage: Stage) -> None:
    padded = BODY + b" " * 60_000
    with stage.talk() as talk:
        talk.send(*[TAKE + CHUNKED + chunks(padded, 5000) + TAKE])

        assert [told(talk.hear())["remaining"] for _ in range(3)] == [99, 98, 97]


@pytest.mark.parametrize("small", [3, 64])
def test_a_body_of_64_kib_is_taken_in_chunks_of_any_size(stage: Stage, small: int) -> None:
    padded = BODY + b" " * (65_536 - len(BODY))
    with stage.talk() as talk:
        talk.send(CHUNKED + chunks(padded, small))

        assert talk.hear().status == 200


def test_a_body_of_64_kib_is_taken_and_no_more(stage: Stage) -> None:
    padded = BODY + b" " * (65_536 - len(BODY))

    assert stage.post("/v1/take", padded).status == 200
    assert stage.post("/v1/take", padded + b" ").status == 413


def test_more_in_chunks_is_refused_as_soon_as_it_is_too_much(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(CHUNKED + b"10001\r\n" + b" " * 65_537)

        answer = talk.hear()
        assert (answer.status, answer.all("connection")) == (413, ["close"])


def test_who_waits_to_be_told_to_go_on_is(stage: Stage) -> None:
    head = posted("/v1/take", A, expect="100-continue").removesuffix(BODY)
    with stage.talk() as talk:
        talk.send(head)
        answer = talk.hear(later=[BODY])

    assert (answer.status, answer.interim) == (200, (100,))


def test_http_1_0_is_answered_and_hung_up_on(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(b"GET /health HTTP/1.0\r\n\r\n")

        assert talk.rest().startswith(b"HTTP/1.1 200 OK\r\n")


def test_who_asks_to_keep_the_connection_in_http_1_0_keeps_it(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(b"GET /health HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        answer = talk.hear()

        assert answer.all("connection") == ["keep-alive"]


def test_who_asks_for_another_protocol_gets_an_answer_in_this_one(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(asked("GET", "/health", connection="upgrade", upgrade="websocket") + HEALTH)

        assert [talk.hear().status, talk.hear().status] == [200, 200]


MALFORMED = {
    b"GET / HTTP/1.1\r\n\r\n": 400,
    b"GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n": 400,
    b"GET /health HTTP/1.1\r\nhost: a\r\nx_y: b\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00": 400,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 400,
    b"*3\r\n$3\r\nGET\r\n": 400,
    b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n": 501,
    b"TRACE /health HTTP/1.1\r\nhost: a\r\n\r\n": 405,
    b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n": 400,
    b"POST /v1/take HTTP/1.1\r\nhost: a\r\ncontent-length: 99999\r\n\r\n": 413,
    b"GET /health HTTP/1.1\r\nhost: a\r\n" + b"a: b\r\n" * 201 + b"\r\n": 431,
    b"GET /health HTTP/1.1\r\nhost: a\r\na: " + b"b" * 70_000: 431,
    b"GET /" + b"a" * 70_000: 414,
    b"GET /health HTTP/1.1\r\nhost: a\r\nexpect: much\r\ncontent-length: 1\r\n\r\n": 417,
}  # fmt: skip


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: data[:24].decode("latin-1"))
def test_what_is_no_request_is_answered_and_hung_up_on(stage: Stage, data: bytes) -> None:
    with stage.talk() as talk:
        talk.send(data)
        answer = talk.hear()

        assert (answer.status, answer.all("connection")) == (MALFORMED[data], ["close"])
        assert answer.all("content-type") == ["application/problem+json"]
        assert talk.finish() == b""
    assert stage.get("/health").status == 200


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=300) | st.sampled_from([TAKE, HEALTH, CHUNKED]), max_size=5))
def test_whatever_is_sent_others_are_served(stage: Stage, parts: list[bytes]) -> None:
    with stage.talk() as talk:
        talk.send(*[part for part in parts if part])
        talk.finish()

    assert stage.get("/health").status == 200
    assert not stage.errors


def test_who_never_comes_to_the_end_of_a_head_is_told_so(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(b"GET /health HT")
        stage.turn()
        stage.tick(11.0)

        answer = talk.hear()
        assert (answer.status, answer.all("connection")) == (408, ["close"])


@pytest.mark.parametrize("head", [TAKE[:-5], CHUNKED + b"5\r\nab"])
def test_who_never_comes_to_the_end_of_a_body_is_told_so(stage: Stage, head: bytes) -> None:
    with stage.talk() as talk:
        talk.send(head)
        stage.turn()
        stage.tick(6.0)
        talk.send(b" ")
        stage.tick(6.0)

        assert talk.hear().status == 408


def test_who_says_nothing_is_hung_up_on(stage: Stage) -> None:
    with stage.talk() as talk, stage.talk() as other:
        talk.send(HEALTH)
        talk.hear()
        stage.tick(11.0)

        assert (talk.rest(), other.rest()) == (b"", b"")
    assert stage.hall.status()["connections"] == 0


def test_who_has_just_asked_is_not_hung_up_on(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(HEALTH)
        talk.hear()
        stage.clock.advance(11.0)

        async def both() -> None:
            # The request is there, and nobody has read it yet, when the time is over.
            talk.socket.sendall(HEALTH)
            now = stage.hall.house.now = stage.clock.now()
            stage.hall.sweep(now)

        stage.call(both())

        assert talk.hear().status == 200


def test_who_takes_nothing_in_is_hung_up_on(stage: Stage) -> None:
    ask = asked("GET", "/openapi.json")
    with stage.talk() as talk:
        for _ in range(200):
            talk.socket.setblocking(False)
            try:
                talk.socket.sendall(ask * 20)
            except BlockingIOError:
                break
            stage.turn()
        assert any(guest.clogged for guest in stage.hall.guests)
        stage.tick(11.0)

    assert stage.hall.status()["connections"] == 0


def test_at_the_end_those_who_ask_are_answered_and_told(stage: Stage) -> None:
    with stage.talk() as talk, stage.talk() as idle:
        talk.send(TAKE[:-5])
        idle.send(HEALTH)
        idle.hear()
        stage.turn()
        stage.retire()
        talk.send(TAKE[-5:])
        answer = talk.hear()

        assert (answer.status, answer.all("connection")) == (200, ["close"])
        assert talk.finish() == b""
        stage.tick(1.1)
        assert idle.rest() == b""
    assert not stage.hall.guests


def test_at_the_end_it_is_alive_and_not_ready(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(HEALTH)
        talk.hear()
        stage.retire()
        talk.send(asked("GET", "/ready"))

        answer = talk.hear()
        assert (answer.status, told(answer)) == (
            503, {"status": "unready", "problem": "The service is draining."},
        )  # fmt: skip


def test_there_is_no_more_room_than_there_is(stage: Stage) -> None:
    stage.hall.most = 1
    with stage.talk() as talk:
        talk.send(HEALTH)
        assert talk.hear().status == 200
        with stage.talk() as other:
            assert other.rest() == b""

    assert stage.hall.status()["turned_away"] == 1


def test_what_goes_wrong_inside_is_said_without_a_word_of_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("secret")

    teller, stage.hall.teller = stage.hall.teller, SimpleNamespace(peek=broken)
    answer = stage.post("/v1/peek", A)
    stage.hall.teller = teller

    said = "Something is wrong with the service; its log says what."
    assert told(answer) == problem(500, "Internal Server Error", said)
    assert [one.getMessage() for one in caplog.records] == ["a request could not be answered"]
    assert stage.get("/health").status == 200


def test_over_a_transport_of_the_loop_it_is_the_same(stage: Stage) -> None:
    async def listen() -> asyncio.Server:
        make = lambda: receive(stage.hall, Port("http://127.0.0.1:0"), "127.0.0.1")  # noqa: E731
        return await stage.loop.create_server(make, "127.0.0.1", 0)

    async def close(server: asyncio.Server) -> None:
        server.close()
        stage.hall.close()
        await server.wait_closed()

    server = stage.call(listen())
    with Talk(server.sockets[0].getsockname()[1]) as talk:
        talk.send(TAKE + CHUNKED + chunks(BODY, 7) + asked("GET", "/openapi.json") + b"PUT\r\n")
        answers = [talk.hear() for _ in range(4)]

        assert [answer.status for answer in answers] == [200, 200, 200, 400]
        assert talk.finish() == b""
    stage.call(close(server))
    assert not stage.errors
