"""Answers as servers give them: no byte too many reaches anybody, and none is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.asking import CODED, ENDLESS, GET, HEAD, NEXT, SIZED, ask, calm, lent, served
from tests.gateway.backing import Backing
from tests.gateway.staging import Stage, answered
from tests.gateway.talking import single
from tests.servers.waiting import until


@pytest.fixture
def stage(pair: tuple[Stage, Backing]) -> Iterator[Stage]:
    yield from lent(pair[0])


@pytest.fixture
def server(pair: tuple[Stage, Backing]) -> Backing:
    return pair[1]


def test_a_client_of_http_1_0_has_no_chunks(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server, b"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n")
    with talk:
        caller.say(CODED)
        heard = talk.rest()

    assert heard.startswith(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")
    assert heard.endswith(b"connection: close\r\n\r\nsome body")
    calm(stage, server, kept=caller)


@pytest.mark.parametrize("answer", [SIZED, CODED], ids=["sized", "coded"])
def test_an_answer_may_come_byte_by_byte(answer: bytes, stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(*single(answer), turn=stage.turn)
        heard = answered(talk)

        assert (heard.status, heard.all("x-a"), heard.body) == (200, ["b"], b"some body")
    calm(stage, server, kept=caller)


@pytest.mark.parametrize(
    "surplus",
    [
        pytest.param(b"!", id="a byte"),
        pytest.param(b" and more", id="more"),
        pytest.param(SIZED, id="a second answer"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", id="half a second answer"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize(
    ("answer", "method"),
    [
        pytest.param(SIZED, b"GET", id="sized"),
        pytest.param(CODED, b"GET", id="coded"),
        pytest.param(SIZED[: -len(b"some body")], b"HEAD", id="head"),
        pytest.param(b"HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", b"GET", id="204"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\nX-A: b\r\n\r\n", b"GET", id="304"),
    ],
)
def test_what_comes_after_an_answer_reaches_nobody(
    answer: bytes, method: bytes, at_once: bool, surplus: bytes, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server, GET.replace(b"GET", method))
    with talk:
        if at_once:
            caller.say(answer + surplus)
        else:
            caller.say(answer, turn=stage.turn)
            caller.say(surplus)
        heard = answered(talk, method.decode())

        assert heard.all("x-a") == ["b"]
        assert heard.body == (b"some body" if answer in (SIZED, CODED) else b"")
        caller.ended()
        assert talk.finish() == b""
    calm(stage, server)


@pytest.mark.parametrize("size", [20_000, 300_000])
def test_a_long_body_with_too_much_is_cut_to_its_length(
    size: int, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(HEAD + b"Content-Length: %d\r\n\r\n" % size, turn=stage.turn)
        caller.say(b"x" * (size + 1))
        heard = answered(talk)

        assert heard.body == b"x" * size
        caller.ended()
        assert talk.finish() == b""
    calm(stage, server)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        pytest.param(b"HEAD", SIZED, id="head sized"),
        pytest.param(b"HEAD", CODED, id="head coded"),
        pytest.param(b"HEAD", ENDLESS, id="head endless"),
        pytest.param(b"GET", SIZED.replace(b"200 OK", b"204 No Content"), id="204"),
        pytest.param(b"GET", SIZED.replace(b"200 OK", b"304 Not Modified"), id="304"),
        pytest.param(b"GET", CODED.replace(b"200 OK", b"304 Not Modified"), id="304 coded"),
    ],
)
@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
def test_a_body_where_there_can_be_none_is_dropped(
    method: bytes, answer: bytes, apart: bool, stage: Stage, server: Backing
) -> None:
    head, blank, body = answer.partition(b"\r\n\r\n")
    talk, caller = ask(stage, server, GET.replace(b"GET", method))
    with talk:
        if apart:
            caller.say(head + blank, turn=stage.turn)
            caller.say(body)
        else:
            caller.say(answer)
        heard = answered(talk, method.decode())

        assert heard.body == b""
        caller.ended()
        assert talk.finish() == b""
    calm(stage, server)


@pytest.mark.parametrize(
    ("method", "head"),
    [
        (b"HEAD", HEAD + b"Content-Length: 5\r\n\r\n"),
        (b"HEAD", HEAD + b"Content-Length: 500000\r\n\r\n"),
        (b"HEAD", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        (b"GET", b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_an_answer_without_a_body_leaves_its_connection_in_order(
    method: bytes, head: bytes, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server, GET.replace(b"GET", method))
    with talk:
        caller.say(head)
        heard = answered(talk, method.decode())

        assert heard.body == b""
        if method == b"HEAD":
            wanted = [line for line in head.lower().split(b"\r\n") if b"-length" in line]
            assert heard.all("content-length") == [one[16:].decode() for one in wanted]
    calm(stage, server, kept=caller)


def test_hints_are_passed_on_and_100_is_not(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(b"HTTP/1.1 100 Continue\r\n\r\n", turn=stage.turn)
        caller.say(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", turn=stage.turn)
        caller.say(b"HTTP/1.1 102 Processing\r\n\r\n" + SIZED)
        heard = answered(talk)

        assert (heard.status, heard.interim, heard.body) == (200, (103, 102), b"some body")
        assert heard.all("link") == []
    calm(stage, server, kept=caller)


def test_a_client_of_http_1_0_hears_no_hints(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server, b"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n")
    with talk:
        caller.say(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", turn=stage.turn)
        caller.say(SIZED)

        assert talk.rest().startswith(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")


@pytest.mark.parametrize("status", [413, 200, 500])
def test_an_answer_before_the_body_is_whole_is_passed_on(
    status: int, stage: Stage, server: Backing
) -> None:
    early = SIZED.replace(b"200 OK", b"%d Early" % status)
    with stage.talk() as talk:
        talk.send(b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nabc")
        caller = server.take()
        caller.head()
        caller.read(3)
        caller.say(early)
        answer = answered(talk)

        assert (answer.status, answer.body) == (status, b"some body")
        assert answer.all("connection") == ["close"]
        # The rest of the body is let go, so that the answer is not lost in a reset.
        talk.send(b"x" * 50_000)
        assert talk.finish() == b""
        caller.ended()
    calm(stage, server)


def test_two_answers_to_one_request_are_one(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED + SIZED.replace(b"some", b"evil"))

        assert answered(talk).body == b"some body"
        caller.ended()
        assert served(talk, server, NEXT).body == b"fine"


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
def test_a_blank_line_after_an_answer_is_nothing(
    at_once: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED + b"\r\n") if at_once else caller.say(SIZED, b"\r\n", turn=stage.turn)
        assert answered(talk).body == b"some body"
    calm(stage, server, kept=caller if at_once else None)


def test_a_word_out_of_turn_ends_an_idle_connection(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED)
        assert answered(talk).body == b"some body"
        stage.rest(clients=1)
        caller.say(SIZED)
        caller.ended()
        until(lambda: not stage.idle(), "the connection to be forgotten")
    calm(stage, server)


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: x-a\r\n", True),
    ],
)
def test_a_connection_is_kept_if_the_server_will(
    head: bytes, kept: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(head + b"X-A: b\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nhi")
        answer = answered(talk)

        assert (answer.status, answer.body) == (200, b"hi")
        # What is between the gateway and its server is nothing to the client.
        assert answer.all("connection") == answer.all("keep-alive") == []
        assert answer.all("x-a") == ([] if b"x-a" in head else ["b"])
    if not kept:
        caller.ended()
    calm(stage, server, kept=caller if kept else None)


def test_all_that_connection_names_goes_no_further(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(
            b"HTTP/1.1 200 OK\r\nConnection: x-a\r\nX-A: b\r\nConnection: x-c\r\nX-C: d\r\n"
            b"X-E: f\r\nContent-Length: 0\r\n\r\n"
        )
        answer = answered(talk)

        assert [answer.all(name) for name in ("x-a", "x-c", "x-e")] == [[], [], ["f"]]


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_nothing_of_an_answer_that_is_none_is_told_to_anybody_else(
    version: bytes, stage: Stage, server: Backing
) -> None:
    lines = b"Set-Cookie: session=a\r\nTransfer-Encoding: gzip\r\n\r\n"
    talk, caller = ask(stage, server, b"GET /a %b\r\nHost: a.test\r\n\r\n" % version)
    other, bad = ask(stage, server)
    with talk, other:
        caller.say(ENDLESS, turn=stage.turn)
        bad.say(b"HTTP/1.1 200 OK\r\n" + lines, turn=stage.turn)
        assert answered(other).status == 502
        caller.close()
        heard = talk.rest() if version == b"HTTP/1.0" else talk.upto(b"0\r\n\r\n")

        assert b"session" not in heard
        assert heard.partition(b"\r\n\r\n")[2] in (b"some body", b"9\r\nsome body\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "lines",
    [
        b"Connection: keep-alive, \r\n",
        b"Connection: keep-alive\r\nConnection: \r\n",
        b"Connection: ,\r\n",
    ],
)
def test_what_connection_does_not_name_stays(lines: bytes, stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        body = b"Set-Cookie: a=b\r\n\r\nbody"
        caller.say(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (lines, len(body)) + body)
        heard = answered(talk)

        assert (heard.body, heard.all("set-cookie")) == (body, [])
