"""A server that fails, lies or babbles: its client is told, and nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.gateway.asking import CODED, ENDLESS, HEAD, NEXT, POST, SIZED, ask, calm, lent, served
from tests.gateway.backing import Backing
from tests.gateway.staging import Stage, answered, plan

MANY = b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"


@pytest.fixture
def stage(pair: tuple[Stage, Backing]) -> Iterator[Stage]:
    yield from lent(pair[0])


@pytest.fixture
def server(pair: tuple[Stage, Backing]) -> Backing:
    return pair[1]


def test_who_cannot_be_reached_is_a_502() -> None:
    with Backing() as gone:
        rules = plan(gone.url)
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(POST)
        answer = answered(talk)

        assert (answer.status, answer.all("content-type")) == (502, ["application/problem+json"])
        stage.rest(clients=1)


def test_who_hangs_up_at_once_is_a_502(server: Backing) -> None:
    """Whether it is noticed while it is reached, or when it is asked."""
    with Stage(plan(server.url, upstream={"breaker": False, "retries": 0})) as stage:
        for _ in range(20):
            with stage.talk() as talk:
                talk.socket.sendall(POST)
                server.take().reset()
                assert answered(talk).status == 502
        calm(stage, server)


@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("place", range(SIZED.index(b"some")))
def test_a_head_that_breaks_off_anywhere_is_a_502(
    place: int, abrupt: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED[:place], turn=stage.turn)
        caller.reset() if abrupt else caller.close()

        assert answered(talk).status == 502
        # It was not the client's fault, and it may go on.
        assert served(talk, server, NEXT).status == 200


@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize(
    ("answer", "place"),
    [
        *[(SIZED, place) for place in range(SIZED.index(b"some"), len(SIZED))],
        *[(CODED, place) for place in range(CODED.index(b"4\r\n"), len(CODED))],
    ],
)
def test_a_body_that_breaks_off_anywhere_is_not_whole_to_the_client(
    answer: bytes, place: int, abrupt: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(answer[:place], turn=stage.turn)
        caller.reset() if abrupt else caller.close()
        heard = talk.rest()

    head, _, body = heard.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")
    assert not body.endswith(b"some body" if answer is SIZED else b"0\r\n\r\n")
    calm(stage, server)


@pytest.mark.parametrize("place", range(ENDLESS.index(b"some") + 1, len(ENDLESS) + 1))
def test_without_a_length_the_end_of_the_connection_is_the_end(
    place: int, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(ENDLESS[:place])
        caller.close()
        answer = answered(talk)

        assert answer.all("transfer-encoding") == ["chunked"]
        assert answer.body == ENDLESS[ENDLESS.index(b"some") : place]
    calm(stage, server)


def test_without_a_length_a_reset_is_not_the_end(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(ENDLESS, turn=stage.turn)
        caller.reset()
        heard = talk.rest()

    assert heard.endswith(b"9\r\nsome body\r\n")
    calm(stage, server)


def test_a_client_of_http_1_0_sees_that_an_answer_without_a_length_broke_off(
    stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server, b"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n")
    with talk:
        caller.say(ENDLESS, turn=stage.turn)
        assert talk.socket.recv(1 << 16).endswith(b"some body")
        caller.reset()

        # There is neither a length nor a last chunk: only a reset can say so.
        with pytest.raises(ConnectionResetError):
            talk.socket.recv(1)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"HTTP/2.0 200 OK\r\n\r\n", id="another version"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="no status"),
        pytest.param(b"HTTP/1.1 042 OK\r\nContent-Length: 2\r\n\r\nhi", id="no such status"),
        pytest.param(HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nhello", id="lengths"),
        pytest.param(HEAD + b"Content-Length: 4, 4\r\n\r\nsome", id="a list of lengths"),
        pytest.param(HEAD + b"Content-Length: -4\r\n\r\nsome", id="a negative length"),
        pytest.param(
            HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="a length and a coding",
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
            id="a coding and a length",
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n",
            id="a coding that nobody asked for",
        ),
        pytest.param(HEAD + b"Transfer-Encoding: gzip\r\n\r\nsome", id="a coding without an end"),
        pytest.param(HEAD + b"X B: c\r\n\r\n", id="a blank in a name"),
        pytest.param(MANY, id="ten thousand headers"),
        pytest.param(HEAD + b"X-B: " + b"b" * 300_000, id="a header without an end"),
        pytest.param(b"HTTP/1.1 200 " + b"b" * 300_000, id="a reason without an end"),
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket"
            b"\r\n\r\n",
            id="a protocol that nobody asked for",
        ),
        pytest.param(
            b"HTTP/1.1 150 Hm\r\nContent-Length: 2\r\n\r\nhi" + SIZED, id="a body before its time"
        ),
    ],
)
def test_what_is_no_answer_is_a_502(said: bytes, stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        # It may be hung up on before it has said everything.
        with suppress(ConnectionError):
            caller.say(*(said[at : at + 10_000] for at in range(0, len(said), 10_000)))
        answer = answered(talk)

        assert (answer.status, answer.interim) == (502, ())
        caller.ended()
    calm(stage, server)


@pytest.mark.parametrize("hint", [b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"], ids=["", "hint"])
@pytest.mark.parametrize("said", [b"", HEAD], ids=["nothing", "half a head"])
def test_who_does_not_answer_in_time_is_a_504(
    said: bytes, hint: bytes, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(hint, said, turn=stage.turn)
        stage.tick(19.5)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(0.6)

        assert answered(talk).status == 504
        caller.ended()
    calm(stage, server)


@pytest.mark.parametrize("answer", [SIZED, CODED, ENDLESS], ids=["sized", "coded", "endless"])
def test_who_stalls_in_the_middle_is_cut(answer: bytes, stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    place = answer.index(b"some") + 4
    with talk:
        for at in range(place - 2, place):
            caller.say(answer[at : at + 1] if at >= place - 1 else answer[: place - 1])
            stage.turn()
            stage.tick(29.5)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(0.6)

        assert not talk.rest().endswith((b"some body", b"0\r\n\r\n"))
        caller.ended()
    calm(stage, server)
