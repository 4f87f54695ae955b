"""Connections: in order, bounded, ended in time; and clients of Redis as they are."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import hiredis
import pytest
import redis
import redis.asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.resp import encode
from tests.service.resp.staging import RespServiceHost as Stage
from tests.service.resp.staging import Talk, plan

TAKE = encode("HG.TAKE", "api", "k")
WORDS = ["HG.TAKE", "HG.OPEN", "HG.ASK", "HG.LEND", "HG.BEAT", "HG.RESERVE", "HG.HOLD",
         "CL.THROTTLE", "HELLO", "CLIENT", "COMMAND", "AUTH"]  # fmt: skip
PIECES = [
    b"*3\r\n", b"$3\r\n", b"\r\n", b"$-1\r\n", b"*\r\n", b'"',
    *(encode(word, *extra) for word in WORDS for extra in ([], ["api", "k"], ["\xff"] * 10)),
]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["wheel", "loop"])
def either(request: pytest.FixtureRequest) -> Any:
    """A service whose sockets are on a wheel, then one with those of the event loop."""
    with Stage(wheel=request.param) as found:
        yield found


def test_commands_may_come_in_pieces(either: Stage) -> None:
    with either.talk() as talk:
        for place in range(len(TAKE)):
            talk.send(TAKE[place : place + 1])

        assert talk.hear()[0] == 1


def test_thousands_of_commands_at_once_are_answered_in_order(either: Stage) -> None:
    with either.talk() as talk:
        talk.send(b"".join(encode("ECHO", number) for number in range(5000)))

        assert [talk.hear() for _ in range(5000)] == [str(number) for number in range(5000)]


def test_garbage_is_told_what_is_wrong_and_hung_up_on(either: Stage) -> None:
    with either.talk() as talk:
        talk.send(encode("PING") + b"*1\r\n!" + encode("PING"))

        assert talk.rest() == b"+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n"


@given(st.lists(st.binary(max_size=60) | st.sampled_from(PIECES), max_size=12))
@settings(max_examples=40)
def test_whatever_one_says_others_are_not_disturbed(shared: Stage, said: list[bytes]) -> None:
    with shared.talk() as other:
        with shared.talk() as stranger, suppress(OSError):
            for piece in said:
                stranger.send(piece)
            stranger.socket.shutdown(socket.SHUT_WR)
            stranger.rest()

        assert other.ask("PING") == "PONG"
    shared.tick()
    assert shared.hall.guests == set()


def test_who_leaves_is_told_what_it_asked_and_no_more(either: Stage) -> None:
    with either.talk() as talk:
        talk.send(encode("PING") + encode("QUIT") + encode("PING"))

        assert talk.rest() == b"+PONG\r\n+OK\r\n"


def test_a_long_command_goes_and_a_longer_one_does_not(either: Stage) -> None:
    with either.talk() as talk:
        assert talk.ask("ECHO", "a" * 65_000) == "a" * 65_000
        talk.send(encode("ECHO", "a" * 65_600))

        assert talk.rest() == b"-ERR Protocol error: invalid bulk length\r\n"


def test_who_says_nothing_is_hung_up_on_when_its_time_is_over(stage: Stage) -> None:
    with stage.talk() as silent, stage.talk() as slow, stage.talk() as busy:
        busy.ask("PING")
        slow.send(b"*1\r\n$4\r\nPI")
        busy.ask("PING")
        stage.tick(9.9)
        busy.ask("PING")
        stage.tick(0.1)

        assert silent.rest() == b""
        assert slow.rest() == b""
        assert busy.ask("PING") == "PONG"
    stage.tick()
    assert stage.hall.guests == set()


def test_who_takes_nothing_in_is_not_read_any_more_and_hung_up_on(stage: Stage) -> None:
    with stage.talk() as deaf:
        deaf.socket.setblocking(False)
        question = encode("ECHO", "a" * 60_000)
        sent = 0
        # Until nothing more goes in: what it said is waiting on both sides.
        for _ in range(2000):
            try:
                sent += deaf.socket.send(question)
            except BlockingIOError:
                stage.tick()
        bound = 64 << 20
        assert sent < bound
        stage.tick(10.0)
        stage.tick()

        assert stage.hall.guests == set()


def test_who_asks_briefly_for_much_is_told_it_as_it_takes_it_in(either: Stage) -> None:
    # Six megabytes, of which the kernel keeps little at the client's end.
    count = 3500
    answer = encoded(either, b"COMMAND\r\n")
    with either.talk() as talk:
        talk.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        talk.send(b"COMMAND\r\n" * count + b"PING\r\nQUIT\r\n")
        either.tick()
        either.tick()
        guest = next(iter(either.hall.guests))
        kept = either.call(waiting(guest))
        said = talk.rest()

    assert kept < 1 << 20
    assert said == answer * count + b"+PONG\r\n+OK\r\n"


def encoded(stage: Stage, question: bytes) -> bytes:
    """The answer to a question, as it comes."""
    with stage.talk() as talk:
        talk.send(question + b"QUIT\r\n")
        return talk.rest().removesuffix(b"+OK\r\n")


async def waiting(guest: Any) -> int:
    """How many bytes are kept for somebody who does not take them in."""
    return int(guest.transport.get_write_buffer_size())


BOOK = b'{"limits":[{"by":"GCRA","rate":"5/min"}]}'


@pytest.mark.parametrize(
    "words",
    [
        ["CL.THROTTLE", "KEY", 4, 1, 60],
        ["HG.OPEN", BOOK, "KEY", "n", "book", 1, 0, "", 0, "", ""],
        ["HG.LEND", "a", "KEY", "n", "enter", 1, 60_000_000, "me"],
        ["HG.LEND", "a", "k", "n", "renew", 1000, 60_000_000, "KEY"],
    ],
    ids=["throttle", "book", "lend", "name"],
)
def test_long_keys_of_strangers_are_not_kept(stage: Stage, words: list[Any]) -> None:
    stage.ask("PING")
    tracemalloc.start()
    try:
        with stage.talk() as talk:
            for number in range(100):
                key = f"{number}-" + "k" * 60_000
                talk.ask(*[key if word == "KEY" else word for word in words])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 2_000_000


def test_the_service_takes_its_leave_of_those_who_ask_nothing(either: Stage) -> None:
    with either.talk() as talk:
        talk.ask("PING")
        either.retire()
        either.tick(1.0)

        assert talk.rest() == b""


def test_what_has_come_is_answered_when_the_service_ends(either: Stage) -> None:
    async def leave(talk: Talk) -> None:
        # Nobody reads this before it is time to go.
        talk.send(encode("ECHO", "a" * 20_000) * 9)
        either.hall.retire()

    with either.talk() as talk:
        talk.ask("PING")
        either.call(leave(talk))

        assert [len(talk.hear()) for _ in range(9)] == [20_000] * 9
        # It is told that this was all, not that something was lost.
        either.tick()
        talk.send(encode("PING"))
        assert talk.socket.recv(1) == b""


def test_who_asks_while_the_service_ends_is_answered_once_more(either: Stage) -> None:
    with either.talk() as talk:
        talk.ask("PING")
        either.retire()
        talk.send(encode("PING") + TAKE)

        assert talk.hear() == "PONG"
        assert talk.hear()[0] == 1
        assert talk.rest() == b""


def test_half_a_command_is_not_waited_for_when_the_service_ends(either: Stage) -> None:
    with either.talk() as talk:
        talk.ask("PING")
        talk.send(TAKE[:5])
        either.tick()
        either.retire()
        either.tick(0.5)
        talk.send(TAKE[5:9])
        either.tick(0.5)

        assert talk.rest() == b""


def test_who_is_hung_up_on_hears_why_whatever_it_still_says(either: Stage) -> None:
    async def say(talk: Talk) -> None:
        # More than is read at once.
        talk.send(b"*1\r\n!" + bytes(300_000))

    with either.talk() as talk:
        either.call(say(talk))

        assert talk.socket.recv(100) == b"-ERR Protocol error: expected '$', got '!'\r\n"
        assert talk.socket.recv(1) == b""
        either.tick(2.0)
    assert either.hall.guests == set()


def test_a_full_house_turns_others_away(stage: Stage) -> None:
    stage.hall.most = 1
    with stage.talk() as first:
        first.ask("PING")
        with stage.talk() as second:
            assert second.rest() == b""
        assert first.ask("PING") == "PONG"


def test_what_fails_within_is_told_and_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    teller, stage.hall.teller = stage.hall.teller, None
    answer = stage.ask("HG.TAKE", "api", "k")
    stage.hall.teller = teller

    assert str(answer) == "ERR the service failed at it; its log says how"
    assert [record.message for record in caplog.records] == ["a command failed"]


# A store that is far away.


def test_answers_of_a_far_store_come_in_order(valkey: Server) -> None:
    with Stage(store=f"{valkey.url}?budget=9") as stage, stage.talk() as talk:
        talk.send(encode("PING") + 7 * TAKE + encode("PING", "x") + encode("HG.PEEK", "api", "k"))
        answers = [talk.hear() for _ in range(10)]

    assert answers[0] == "PONG"
    assert [answer[0] for answer in answers[1:8]] == [1, 1, 1, 1, 1, 0, 0]
    assert answers[8] == "x"
    assert answers[9][0] == 0


def test_every_verb_may_be_awaited(valkey: Server) -> None:
    room = {"name": "room", "key": "client.ip", "concurrent": 2}
    api = {"name": "api", "key": "client.ip", "limit": "5/min"}
    with Stage(plan(api, room), store=f"{valkey.url}?budget=9") as stage, stage.talk() as talk:
        booked = talk.ask("HG.RESERVE", "api", "k", 2)
        held = talk.ask("HG.HOLD", "room", "k")
        answers = [
            talk.ask("HG.CANCEL", booked[8])[:3],
            talk.ask("HG.RENEW", held[8]),
            talk.ask("HG.INSIDE", "room", "k"),
            talk.ask("HG.RELEASE", held[8]),
            talk.ask("HG.DEBIT", "api", "k", 6)[:3],
            talk.ask("HG.RESET", "api", "k"),
            talk.ask("HG.PEEK", "api", "k")[:3],
            talk.ask("CL.THROTTLE", "k", 4, 1, 60, 4),
            talk.ask("CL.THROTTLE", "k", 9, 1, 60),
        ]

    assert answers[:7] == [[1, 5, 5], 1, 1, 1, [0, 5, 0], "OK", [1, 5, 5]]
    assert answers[7][:4] == [0, 5, 1, -1]
    assert answers[8][:4] == [0, 10, 5, -1]


def test_no_more_than_a_thousand_wait_for_a_store(valkey: Server) -> None:
    with Proxy(valkey.port) as proxy:
        rule = {"name": "api", "key": "client.ip", "limit": "9/min", "when_unavailable": "deny"}
        url = f"{proxy.url}?budget=5"
        with Stage(plan(rule), store=url) as stage, stage.talk() as talk:
            talk.ask("HG.TAKE", "api", "k")
            proxy.blackhole()
            talk.send(2500 * TAKE)
            stage.tick()
            guest = next(iter(stage.hall.guests))
            waiting = len(guest.queue)
            proxy.heal()
            answers = [talk.hear() for _ in range(2500)]

    assert waiting <= 1000
    assert sum(answer[0] for answer in answers) <= 9


def test_what_is_under_way_is_answered_when_the_service_ends(valkey: Server) -> None:
    with (
        Proxy(valkey.port) as proxy,
        Stage(store=f"{proxy.url}?budget=5") as stage,
        stage.talk() as talk,
    ):
        talk.ask("HG.TAKE", "api", "k")
        proxy.blackhole()
        talk.send(TAKE)
        stage.tick()
        busy = next(iter(stage.hall.guests)).busy
        stage.retire()
        proxy.heal()
        answer = talk.hear()
        rest = talk.rest()

    assert busy
    assert answer[0] in (0, 1)
    assert rest == b""


def test_a_store_that_is_gone_is_decided_without(valkey: Server) -> None:
    rules = plan(
        *(
            {"name": mode, "key": "client.ip", "limit": "5/min", "when_unavailable": mode}
            for mode in ("local", "allow", "deny")
        )
    )
    with Proxy(valkey.port) as proxy, Stage(rules, store=proxy.url) as stage:
        proxy.refuse()
        with stage.talk() as talk:
            answers = {mode: talk.ask("HG.TAKE", mode, "k") for mode in ("local", "allow", "deny")}

    assert answers["local"][:3] + answers["local"][7:] == [1, 5, 4, 1]
    assert answers["allow"][0] == answers["allow"][7] == 1
    assert answers["deny"][0] == 0
    assert answers["deny"][5:] == ["unavailable", "deny", 1]


def test_a_store_that_cannot_be_asked_is_an_error_where_nothing_else_can_be_said(
    valkey: Server,
) -> None:
    with Proxy(valkey.port) as proxy, Stage(store=proxy.url) as stage:
        proxy.refuse()

        assert str(stage.ask("HG.RESET", "api", "k")).startswith("UNAVAILABLE 127.0.0.1:")


# Clients of Redis.


def test_redis_py_connects_as_it_is_set_up(either: Stage) -> None:
    for protocol in (2, 3):
        client = redis.Redis(port=either.port, protocol=protocol)
        with client:
            assert client.ping()
            assert client.execute_command("CL.THROTTLE", f"k{protocol}", 15, 30, 60) == [
                0, 16, 15, -1, 2,
            ]  # fmt: skip
            with client.pipeline(transaction=False) as pipe:
                for _ in range(7):
                    pipe.execute_command("HG.TAKE", "api", f"k{protocol}")
                assert [answer[0] for answer in pipe.execute()] == [1, 1, 1, 1, 1, 0, 0]
            with pytest.raises(redis.ResponseError, match="did you mean api"):
                client.execute_command("HG.TAKE", "apo", "k")


def test_redis_py_connects_in_an_event_loop(either: Stage) -> None:
    async def ask() -> Any:
        async with redis.asyncio.Redis(port=either.port, client_name="me") as client:
            return await asyncio.gather(
                *[client.execute_command("HG.TAKE", "api", "k") for _ in range(7)]
            )

    assert sum(answer[0] for answer in asyncio.run(ask())) == 5


def test_hiredis_reads_what_is_answered(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(hiredis.pack_command(("HG.TAKE", "api", "k")) + encode("QUIT"))
        reader = hiredis.Reader()
        reader.feed(talk.rest())

    assert reader.gets() == [1, 5, 4, 0, 12_000_000, b"", b"api", 0]


@pytest.mark.parametrize("version", ["-2", "-3"])
def test_redis_cli_speaks_with_it(stage: Stage, redis_cli: Path, version: str) -> None:
    done = subprocess.run(
        [redis_cli, version, "-p", str(stage.port)],
        input='HG.TAKE api k 4\nCOMMAND COUNT\nHG.TAKE api "k" 2\nHELLO 3\n',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.split()[:4] == ["1", "5", "1", "0"]
    assert "limit" in done.stdout
