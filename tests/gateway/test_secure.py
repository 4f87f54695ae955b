"""TLS and unix sockets, on both sides: who is who is checked, and all else is as ever."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.asking import GET, asked
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.streams import MIB, Sending, parts
from tests.gateway.talking import SECONDS, Talk
from tests.servers.locked import Notary, lock


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Notary:
    return Notary(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def locked(notary: Notary) -> Iterator[Backing]:
    with Backing(notary.serving()) as backing:
        yield backing


def listening(notary: Notary, **more: Any) -> dict[str, Any]:
    return {"address": "127.0.0.1:0", "tls": {**notary.tls, **more}}


def fine(talk: Talk) -> bool:
    answer = talk.hear()
    return answer is not None and (answer.status, answer.body) == (200, b"fine")


def test_a_request_may_be_secret_all_the_way(notary: Notary, locked: Backing) -> None:
    rules = plan(locked.url, upstream={"tls": {"ca": str(notary.ca)}}, listen=listening(notary))
    with Stage(rules) as stage, stage.talk() as talk:
        line = lock(talk, notary.visiting())
        assert line.selected_alpn_protocol() == "http/1.1"
        for number in range(2):
            talk.send(GET)
            caller = locked.take() if number == 0 else locked.callers[0]
            head = caller.head()
            assert b"\r\nx-forwarded-proto: https\r\n" in head
            assert caller.line.selected_alpn_protocol() == "http/1.1"  # type: ignore[attr-defined]
            caller.say(FINE)
            assert fine(talk)
        stage.rest(clients=1)
    caller.ended()


def test_long_bodies_may_be_secret(notary: Notary, locked: Backing) -> None:
    size = 2 * MIB
    rules = plan(locked.url, upstream={"tls": {"ca": str(notary.ca)}}, listen=listening(notary))
    with Stage(rules) as stage, stage.talk() as talk:
        line = lock(talk, notary.visiting())
        talk.send(b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n" % size)
        sending = Sending(line, parts(size))
        caller = locked.take()
        caller.head()
        assert caller.read(size) == b"".join(parts(size))
        sending.join()
        caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        sending = Sending(caller.line, parts(size))
        answer = answered(talk)
        assert answer.body == b"".join(parts(size))
        sending.join()
        stage.rest(clients=1)


@pytest.mark.parametrize(
    ("tls", "reached"),
    [
        ({"ca": "notary"}, True),
        ({"ca": "notary", "name": "localhost"}, True),
        ({"ca": "notary", "name": "other.test"}, False),
        ({"ca": "stranger"}, False),
        ({}, False),
        ({"verify": False}, True),
    ],
)
def test_a_server_has_to_be_who_it_says(
    tls: Any, reached: bool, notary: Notary, stranger: Notary, locked: Backing
) -> None:
    known = {"notary": str(notary.ca), "stranger": str(stranger.ca)}
    terms = {**tls, "ca": known[tls["ca"]]} if "ca" in tls else tls
    rules = plan(locked.url, upstream={"tls": terms, "retries": 0})
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(GET)
        if not reached:
            with pytest.raises(ssl.SSLError):
                locked.take().head()
            assert answered(talk).status == 502
        else:
            locked.take().say(FINE)
            assert fine(talk)
        stage.rest(clients=1)


def test_a_server_without_tls_is_not_reached_with_it(server: Backing) -> None:
    rules = plan(server.url.replace("http", "https"), upstream={"retries": 0})
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(GET)
        server.take().say(FINE)

        assert answered(talk).status == 502
        stage.rest(clients=1)


def test_clients_may_have_to_show_who_they_are(
    notary: Notary, stranger: Notary, server: Backing
) -> None:
    ours, theirs = notary.sign("client.test"), stranger.sign("client.test")
    rules = plan(server.url, listen=listening(notary, clients=str(notary.ca)))
    with Stage(rules) as stage:
        for shown in ((), theirs):
            with stage.talk() as talk, suppress(OSError):
                line = lock(talk, notary.visiting(*shown))
                line.sendall(GET)
                # In TLS 1.3 one is refused after the first word.
                assert line.recv(1) == b""
        with stage.talk() as talk:
            lock(talk, notary.visiting(*ours))
            talk.send(GET)
            server.take().say(FINE)
            assert fine(talk)
        assert not server.asked()
        stage.rest()


def test_who_does_not_speak_tls_is_not_answered(notary: Notary, server: Backing) -> None:
    with Stage(plan(server.url, listen=listening(notary))) as stage, stage.talk() as talk:
        talk.send(GET)

        assert not talk.rest().startswith(b"HTTP/")
        assert not server.asked()
        stage.rest()


def test_who_does_not_greet_is_hung_up_on(notary: Notary, server: Backing) -> None:
    rules = plan(server.url, listen=listening(notary), timeouts={"head": "100ms"})
    with Stage(rules) as stage, stage.talk() as talk:
        assert talk.rest() == b""
        stage.rest()


@pytest.mark.parametrize("limits", [{"connections": 2}, {"per_client": 2}])
def test_who_does_not_greet_takes_up_a_place(limits: Any, notary: Notary, server: Backing) -> None:
    with Stage(plan(server.url, listen=listening(notary), limits=limits)) as stage:
        with stage.talk() as one, stage.talk() as two, stage.talk() as three:
            assert three.rest() == b""
            assert stage.gateway.status()["turned_away"] == 1
            stage.rest(clients=2)
            # Whoever greets has the place that it had before.
            lock(one, notary.visiting())
            one.send(GET)
            server.take().say(FINE)
            assert fine(one)
            stage.rest(clients=2)
            two.socket.close()
            stage.rest(clients=1)
        stage.rest()


def test_who_cannot_agree_on_tls_gives_its_place_back(
    notary: Notary, server: Backing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate")
    with Stage(plan(server.url, listen=listening(notary), limits={"connections": 1})) as stage:
        for _ in range(3):
            with stage.talk() as talk:
                stage.rest(clients=1)
                talk.send(GET)
                assert not talk.rest().startswith(b"HTTP/")
            stage.rest()
        assert stage.gateway.status()["turned_away"] == 0
        with stage.talk():
            stage.rest(clients=1)
        stage.rest()
    # They are told of once in a second, and who says nothing is not.
    (said,) = caplog.messages
    assert said.startswith("TLS with 127.0.0.1 failed: ")


def test_the_end_of_the_gateway_is_the_end_of_who_does_not_greet(
    notary: Notary, server: Backing
) -> None:
    with Stage(plan(server.url, listen=listening(notary))) as stage:
        talk = stage.talk()
        stage.rest(clients=1)
    with talk:
        assert talk.rest() == b""


def test_an_early_answer_is_heard_over_tls_too(notary: Notary, server: Backing) -> None:
    """Hanging up at once on who still sends would have the answer lost in a reset."""
    rules = plan(server.url, listen=listening(notary), limits={"body": "10KB"})
    with Stage(rules) as stage, stage.talk() as talk:
        lock(talk, notary.visiting())
        talk.send(b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5000000\r\n\r\n")
        stage.turn()
        talk.socket.sendall(b"x" * 2_000_000)
        answer = answered(talk)

        assert (answer.status, answer.all("connection")) == (413, ["close"])
        stage.tick(3.0)
        assert talk.rest() == b""
        stage.rest()


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_client_may_leave_without_a_word(abrupt: bool, notary: Notary, locked: Backing) -> None:
    rules = plan(locked.url, upstream={"tls": {"ca": str(notary.ca)}}, listen=listening(notary))
    with Stage(rules) as stage, stage.talk() as talk:
        line = lock(talk, notary.visiting())
        caller = asked(talk, locked)
        if not abrupt:
            line.settimeout(SECONDS)
            line.unwrap()
        line.close()

        caller.ended()
        stage.rest()


def test_both_sides_may_be_files(tmp_path: Path) -> None:
    behind = socket.socket(socket.AF_UNIX)
    behind.bind(str(tmp_path / "app.sock"))
    behind.listen()
    behind.settimeout(SECONDS)
    rules = plan(f"unix:{tmp_path}/app.sock", listen=f"unix:{tmp_path}/web.sock")
    with behind, Stage(rules) as stage, socket.socket(socket.AF_UNIX) as client:
        assert stage.gateway.addresses == [f"unix:{tmp_path}/web.sock"]
        client.settimeout(SECONDS)
        client.connect(f"{tmp_path}/web.sock")
        client.sendall(GET)
        line, _ = behind.accept()
        line.settimeout(SECONDS)
        with line:
            head = line.recv(1 << 16)
            assert head.startswith(b"GET /a HTTP/1.1\r\nhost: a.test\r\n")
            assert b"\r\nx-forwarded-for: unknown\r\n" in head
            line.sendall(FINE)
            assert client.recv(1 << 16).endswith(b"\r\n\r\nfine")
            client.close()
            stage.rest()


def test_a_file_that_was_left_behind_is_taken_over(tmp_path: Path, server: Backing) -> None:
    place = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(place))
    with Stage(plan(server.url, listen=f"unix:{place}")), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(str(place))
        client.sendall(GET)

        assert server.take().head().startswith(b"GET /a HTTP/1.1\r\n")


def test_a_file_where_tls_is_spoken_stays_for_who_listens_there_next(
    notary: Notary, tmp_path: Path, server: Backing
) -> None:
    place = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX) as client:
        with Stage(plan(server.url, listen={"address": f"unix:{place}", "tls": notary.tls})) as one:
            client.connect(str(place))
            one.rest(clients=1)
        assert place.is_socket()
