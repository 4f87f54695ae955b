"""How long a gateway waits, and for whom."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.asking import GET, asked, served
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, ROOM, Leap, Stage, answered, narrow, plan
from tests.gateway.streams import END, Sending, chunk
from tests.gateway.talking import single
from tests.servers.waiting import until

POST = b"POST /a HTTP/1.1\r\nHost: a.test\r\n"
WAITS = {
    "head": "10s", "body": "20s", "idle": "30s", "send": "40s",
    "connect": "5s", "answer": "50s", "stall": "70s", "total": "10min",
}  # fmt: skip


@pytest.fixture
def stage(server: Backing) -> Iterator[Stage]:
    upstream = {"breaker": False, "retries": 0}
    with Stage(plan(server.url, timeouts=WAITS, upstream=upstream)) as stage:
        yield stage


@pytest.mark.parametrize("sent", [b"G", b"GET /a HT", GET[:-2]])
def test_a_head_has_its_time(sent: bytes, stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        talk.send(sent[:1])
        stage.tick(9.0)
        # Byte by byte is not faster.
        talk.send(*single(sent[1:]))
        stage.tick(0.9)
        stage.rest(clients=1)
        stage.tick(0.2)
        answer = answered(talk)

        assert (answer.status, answer.all("connection")) == (408, ["close"])
        assert talk.finish() == b""
        assert not server.asked()
    stage.rest()


def test_who_never_says_anything_is_left_without_a_word(stage: Stage) -> None:
    with stage.talk() as talk:
        stage.rest(clients=1)
        stage.tick(9.9)
        stage.rest(clients=1)
        stage.tick(0.2)

        assert talk.rest() == b""
    stage.rest()


@pytest.mark.parametrize("refused", [False, True])
def test_who_asks_nothing_more_is_left_without_a_word(refused: bool, server: Backing) -> None:
    # Who is refused like this is so at once, before its request has been read to the end.
    rules = [{"name": "no", "limit": "1/h", "cost": 5}] if refused else [ROOM]
    with Stage(plan(server.url, timeouts=WAITS, rules=rules)) as stage, stage.talk() as talk:
        if refused:
            talk.send(GET)
            assert answered(talk).status == 429
        else:
            assert served(talk, server).status == 200
        stage.tick(29.8)
        stage.rest(clients=1)
        stage.tick(0.4)

        assert talk.rest() == b""
        stage.rest()


def test_half_a_head_behind_a_request_has_its_time_too(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, GET + GET[:10])
        caller.say(FINE)
        assert answered(talk).status == 200
        stage.tick(10.1)

        assert answered(talk).status == 408
        assert talk.finish() == b""


@pytest.mark.parametrize("framing", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
def test_a_client_may_not_pause_for_long_within_a_body(
    framing: bytes, stage: Stage, server: Backing
) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, POST + framing + b"\r\n\r\n")
        for _ in range(3):
            stage.tick(19.0)
            talk.send(b"4\r\nsome\r\n")
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(20.1)
        answer = answered(talk)

        assert (answer.status, answer.all("connection")) == (408, ["close"])
        caller.ended()
        assert talk.finish() == b""
    stage.rest()


def test_a_pause_in_a_long_body_is_as_long(stage: Stage, server: Backing) -> None:
    """Of a long body nothing is parsed any more; the time is kept all the same."""
    with stage.talk() as talk:
        caller = asked(talk, server, POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1000)
        for _ in range(3):
            talk.send(b"x" * 50_000)
            caller.read(50_000)
            stage.tick(19.0)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(1.1)

        assert answered(talk).status == 408
        caller.ended()


def test_a_rule_may_take_its_time_over_a_body(server: Backing) -> None:
    """Nothing of it is read while the rule has not said yes; the client cannot help that."""
    rule = {"name": "one", "concurrent": 1, "over": "wait 2h"}
    clock = Leap()
    waits = {**WAITS, "answer": "1h", "total": "0s"}
    with (
        Stage(plan(server.url, rules=[rule], timeouts=waits), clock=clock) as stage,
        stage.talk() as first,
        stage.talk() as talk,
    ):
        caller = asked(first, server)
        body = b"x" * 2_000_000
        sending = Sending(
            talk.socket, iter([POST + b"Content-Length: %d\r\n\r\n" % len(body), body])
        )
        until(stage.full, "the client to be made to wait")
        stage.tick(1000.0)
        caller.say(FINE)
        assert answered(first).status == 200
        caller.head()
        assert caller.read(len(body)) == body
        sending.join()
        caller.say(FINE)
        assert answered(talk).status == 200


@pytest.mark.parametrize(
    ("request_", "more"),
    [
        (GET, b""),
        (POST + b"Content-Length: 9\r\n\r\nsome", b"b"),
        (POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 200_000, b"x"),
    ],
    ids=["whole", "half", "too much"],
)
def test_a_server_has_to_be_reached_in_time(request_: bytes, more: bytes, server: Backing) -> None:
    # It takes the connection, but does not speak TLS.
    url = server.url.replace("http", "https")
    rules = plan(url, timeouts=WAITS, upstream={"retries": 0, "breaker": False})
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(request_)
        caller = server.take()
        stage.tick(4.0)
        talk.send(more)
        stage.tick(0.9)
        stage.rest(clients=1, busy=1, places=1, errands=1)
        stage.tick(0.2)

        assert answered(talk).status == 504
        caller.ended()
        talk.socket.close()
        stage.rest()


def test_a_server_has_to_take_in_a_body_in_time(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server, POST + b"Content-Length: 100000000\r\n\r\n")
        while not stage.full():
            talk.send(b"x" * 65_536)
        stage.tick(49.0)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(1.1)

        assert answered(talk).status == 504
        caller.ended()
        talk.socket.close()
    stage.rest()


@pytest.mark.parametrize(
    ("waits", "tick", "status"),
    [
        ({"answer": "1s"}, 1.1, 504),
        ({"total": "2s"}, 2.1, 504),
        ({"connect": "1s"}, 49.0, 0),
    ],
)
def test_a_route_may_have_its_own_patience(
    waits: dict[str, str], tick: float, status: int, server: Backing
) -> None:
    rules = plan(server.url, timeouts=WAITS, route={"timeouts": waits, "retries": 0})
    with Stage(rules) as stage, stage.talk() as talk:
        caller = asked(talk, server)
        stage.tick(tick)
        if status:
            assert answered(talk).status == status
            caller.ended()
        else:
            caller.say(FINE)
            assert answered(talk).status == 200


def test_the_whole_has_its_time_however_well_it_goes(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(9):
            stage.tick(60.0)
            caller.say(b"x", turn=stage.turn)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(61.0)

        assert talk.rest().endswith(b"x" * 9)
        caller.ended()
    stage.rest()


def test_who_takes_in_nothing_is_cut_off(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        caller = asked(talk, server)
        caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        while not stage.full():
            caller.say(b"x" * 65_536, turn=stage.turn)
        stage.tick(39.0)
        stage.rest(clients=1, busy=1, places=1)
        stage.tick(1.1)
        caller.ended()
        stage.rest()


@pytest.mark.parametrize(("seconds", "whole"), [(35.0, True), (43.0, False)])
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_who_takes_in_the_end_of_an_answer_slowly_has_time_for_it(
    version: bytes, seconds: float, whole: bool, stage: Stage, server: Backing
) -> None:
    """The gateway has it all, and is about to hang up; some of it nobody else has."""
    part = chunk(b"x" * 65_536)
    closing = b"a.test\r\nConnection: close\r\n"
    with stage.talk() as talk:
        request = GET.replace(b"1.1", version).replace(b"a.test\r\n", closing)
        caller = asked(talk, server, request)
        narrow(talk.socket)
        caller.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 3 * 65_536
        while not stage.full():
            caller.say(part, turn=stage.turn)
            sent += 65_536
        caller.say(3 * part + END)
        found = b""
        while stage.held().busy:
            found += talk.socket.recv(1 << 16)
        stage.tick(seconds)
        found += talk.rest()

        assert (found.partition(b"\r\n\r\n")[2].count(b"x") == sent) == whole
    stage.rest()


def test_lingering_ends(stage: Stage, server: Backing) -> None:
    with stage.talk() as talk:
        asked(talk, server, POST + b"Content-Length: 100\r\n\r\n").say(FINE)
        assert answered(talk).all("connection") == ["close"]
        assert talk.receive() == b""
        stage.rest(clients=1)
        stage.tick(2.1)
        stage.rest()
