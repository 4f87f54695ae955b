"""A server that fails, lies or babbles: its client is told, and nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.gateway.backing import Backing, Caller
from tests.gateway.staging import FINE, Stage, plan
from tests.gateway.talking import Talk, single
from tests.servers.waiting import until

HEAD = b"HTTP/1.1 200 OK\r\nX-A: b\r\n"
SIZED = HEAD + b"Content-Length: 9\r\n\r\nsome body"
CODED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n"
ENDLESS = HEAD + b"\r\nsome body"
MANY = b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi"
GET = b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n"
WAITS = {"answer": "20s", "stall": "30s", "total": "10min"}


@pytest.fixture(scope="module")
def server() -> Iterator[Backing]:
    with Backing() as backing:
        yield backing


@pytest.fixture(scope="module")
def shared(server: Backing) -> Iterator[Stage]:
    # No breaker: what is looked at here is one fault at a time.
    with Stage(plan(server.url, upstream={"breaker": False}, timeouts=WAITS)) as stage:
        yield stage


@pytest.fixture
def stage(shared: Stage) -> Iterator[Stage]:
    """The gateway of all these tests, with nothing in hand and no connection kept."""
    yield shared
    shared.rest()
    shared.clear()


def ask(stage: Stage, server: Backing, request: bytes = POST) -> tuple[Talk, Caller]:
    """A client with a request, and the connection on which the server has heard it."""
    talk = stage.talk()
    talk.send(request)
    caller = server.take()
    caller.head()
    if request is POST:
        caller.read(2)
    return talk, caller


def calm(stage: Stage, server: Backing, kept: Caller | None = None) -> None:
    """Nothing is left of what was, and the next request has its own answer.

    `kept` is the connection that it comes over; without one it is a new one.
    """
    stage.rest()
    assert stage.idle() == (0 if kept is None else 1)
    with stage.talk() as talk:
        talk.send(NEXT)
        caller = server.take() if kept is None else kept
        assert caller.head().startswith(b"GET /next HTTP/1.1\r\n")
        caller.say(FINE)
        answer = talk.hear()
        assert answer is not None
        assert (answer.status, answer.body) == (200, b"fine")
    stage.rest()


def test_who_cannot_be_reached_is_a_502() -> None:
    with Backing() as gone:
        rules = plan(gone.url)
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(POST)
        answer = talk.hear()

        assert answer is not None
        assert (answer.status, answer.all("content-type")) == (502, ["application/problem+json"])
        stage.rest(clients=1)


@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("place", range(SIZED.index(b"some")))
def test_a_head_that_breaks_off_anywhere_is_a_502(
    place: int, abrupt: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED[:place], turn=stage.turn)
        caller.reset() if abrupt else caller.close()
        answer = talk.hear()

        assert answer is not None
        assert answer.status == 502
        # It was not the client's fault, and it may go on.
        talk.send(NEXT)
        server.take().say(FINE)
        answer = talk.hear()
        assert answer is not None
        assert answer.status == 200


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
        answer = talk.hear()

        assert answer is not None
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


def test_a_client_of_http_1_0_has_no_chunks(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server, b"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n")
    with talk:
        caller.say(CODED)
        heard = talk.rest()

    assert heard.startswith(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")
    assert heard.endswith(b"connection: close\r\n\r\nsome body")
    calm(stage, server, kept=caller)


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


@pytest.mark.parametrize("answer", [SIZED, CODED], ids=["sized", "coded"])
def test_an_answer_may_come_byte_by_byte(answer: bytes, stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(*single(answer), turn=stage.turn)
        heard = talk.hear()

        assert heard is not None
        assert (heard.status, heard.all("x-a"), heard.body) == (200, ["b"], b"some body")
    calm(stage, server, kept=caller)


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
        answer = talk.hear()

        assert answer is not None
        assert (answer.status, answer.interim) == (502, ())
        caller.ended()
    calm(stage, server)


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
        heard = talk.hear(method.decode())

        assert heard is not None
        assert heard.all("x-a") == ["b"]
        assert heard.body in (b"some body", b"")
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
        heard = talk.hear()

        assert heard is not None
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
        heard = talk.hear(method.decode())

        assert heard is not None
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
        heard = talk.hear(method.decode())

        assert heard is not None
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
        heard = talk.hear()

        assert heard is not None
        assert (heard.status, heard.interim, heard.body) == (200, (103, 102), b"some body")
        assert heard.all("link") == []
    calm(stage, server, kept=caller)


def test_a_client_of_http_1_0_hears_no_hints(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server, b"GET /a HTTP/1.0\r\nHost: a.test\r\n\r\n")
    with talk:
        caller.say(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", turn=stage.turn)
        caller.say(SIZED)

        assert talk.rest().startswith(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")


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
        answer = talk.hear()

        assert answer is not None
        assert answer.status == 504
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
        answer = talk.hear()

        assert answer is not None
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
        answer = talk.hear()

        assert answer is not None
        assert answer.body == b"some body"
        caller.ended()
        talk.send(NEXT)
        again = server.take()
        again.head()
        again.say(FINE)
        answer = talk.hear()
        assert answer is not None
        assert answer.body == b"fine"


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
def test_a_blank_line_after_an_answer_is_nothing(
    at_once: bool, stage: Stage, server: Backing
) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED + b"\r\n") if at_once else caller.say(SIZED, b"\r\n", turn=stage.turn)
        talk.hear()
    calm(stage, server, kept=caller if at_once else None)


def test_a_word_out_of_turn_ends_an_idle_connection(stage: Stage, server: Backing) -> None:
    talk, caller = ask(stage, server)
    with talk:
        caller.say(SIZED)
        talk.hear()
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
        answer = talk.hear()

        assert answer is not None
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
            b"Content-Length: 0\r\n\r\n"
        )
        answer = talk.hear()

        assert answer is not None
        assert answer.all("x-a") + answer.all("x-c") == []
