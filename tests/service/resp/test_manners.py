"""Clients say who they are, and ask what they ask every Redis."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.resp import Refusal, encode
from tests.service.resp.staging import RespServiceHost as Stage
from tests.service.resp.staging import known, plan

TOKEN = "a-token-of-sixteen"
CALLERS = {"shop": known(TOKEN), "desk": known("another-token-123", rules=("api",))}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["PING"], "PONG"),
        (["ping", "a b"], "a b"),
        (["ECHO", "a"], "a"),
        (["SELECT", "0"], "OK"),
        (["CLIENT", "SETNAME", "me"], "OK"),
        (["CLIENT", "SETINFO", "LIB-NAME", "redis-py"], "OK"),
        (["CLIENT", "NO-EVICT", "ON"], "OK"),
        (["CLIENT", "REPLY", "on"], "OK"),
        (["CLIENT", "GETNAME"], None),
        (["RESET"], "RESET"),
        (["QUIT"], "OK"),
        (["CONFIG", "GET", "save"], []),
        (["TIME"], ["1000000", "0"]),
        (["COMMAND", "COUNT"], 31),
        (["COMMAND", "INFO", "PING", "FOO"], [["ping", -1, [], 0, 0, 0, [], [], [], []], None]),
        (["COMMAND", "DOCS", "ECHO"], ["echo", ["summary", "says it again", "arity", 2]]),
    ],
)
def test_what_every_client_asks_is_answered(stage: Stage, words: list[str], answer: Any) -> None:
    assert stage.ask(*words) == answer


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["FOO"], "ERR unknown command 'FOO', with args beginning with:"),
        (["FOO", "a\r\nb"], "ERR unknown command 'FOO', with args beginning with: 'a b'"),
        (["PING", "a", "b"], "ERR wrong number of arguments for 'ping' command"),
        (["ECHO"], "ERR wrong number of arguments for 'echo' command"),
        (["SELECT", "1"], "ERR a service has one database; SELECT 0 or none"),
        (["CLIENT", "KILL"], "ERR unknown subcommand 'KILL'. Try CLIENT SETNAME, GETNAME, ID or "
                             "INFO"),
        (["CLIENT", "REPLY", "OFF"], "ERR unknown subcommand 'REPLY'. Try CLIENT SETNAME, GETNAME, "
                                     "ID or INFO"),
        (["CLIENT", "SETNAME", "a b"], "ERR Client names cannot contain spaces, newlines or special"
                                       " characters."),
        (["HELLO", "4"], "NOPROTO unsupported protocol version"),
        (["HELLO", "3", "FOO"], "ERR syntax error in HELLO option 'FOO'"),
        (["AUTH", "x"], "ERR AUTH <password> called without any password configured for the default"
                        " user. Are you sure your configuration is correct?"),
        (["HG.TAKE", "api"], "ERR wrong number of arguments for 'hg.take' command"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_as_redis_says_it(
    stage: Stage, words: list[str], problem: str
) -> None:
    answer = stage.ask(*words)

    assert isinstance(answer, Refusal)
    assert str(answer) == problem


def test_hello_tells_of_the_server_in_the_version_that_is_asked_for(stage: Stage) -> None:
    with stage.talk() as talk:
        old = talk.ask("HELLO", "2")
        talk.send(encode("HELLO", "3", "SETNAME", "me"))
        modern = talk.hear()
        name = talk.ask("CLIENT", "GETNAME")

    assert old[:6] == ["server", "headgate", "version", "7.4.0", "proto", 2]
    assert modern[4:6] == ["proto", 3]
    assert name == "me"


def test_nothing_is_told_in_the_sign_of_the_version(stage: Stage) -> None:
    with stage.talk() as talk:
        talk.send(encode("HELLO", "3") + encode("CLIENT", "GETNAME") + encode("QUIT"))
        said = talk.rest()

    assert said.startswith(b"%7\r\n")
    assert said.endswith(b"_\r\n+OK\r\n")


@pytest.mark.parametrize("words", [["AUTH", TOKEN], ["AUTH", "shop", TOKEN],
                                   ["AUTH", "default", TOKEN],
                                   ["HELLO", "2", "AUTH", "default", TOKEN]])  # fmt: skip
def test_who_shows_a_token_may_ask(words: list[str]) -> None:
    with Stage(callers=CALLERS) as stage, stage.talk() as talk:
        before = talk.ask("HG.TAKE", "api", "k")
        talk.ask(*words)
        after = talk.ask("HG.TAKE", "api", "k")
        talk.ask("RESET")
        again = talk.ask("PING")

    assert str(before) == "NOAUTH Authentication required."
    assert after[:3] == [1, 5, 4]
    assert str(again) == "NOAUTH Authentication required."


@pytest.mark.parametrize(
    "words",
    [
        ["AUTH", "nobody's"],
        ["AUTH", "desk", TOKEN],
        ["AUTH", "", ""],
        ["HELLO", "3", "AUTH", "shop", "x"],
    ],
)
def test_who_shows_no_token_of_ours_is_told_so(words: list[str]) -> None:
    with Stage(callers=CALLERS) as stage, stage.talk() as talk:
        answer = talk.ask(*words)
        after = talk.ask("FOO")

    assert str(answer) == "WRONGPASS invalid username-password pair or user is disabled."
    assert str(after) == "NOAUTH Authentication required."


def test_hello_alone_does_not_let_a_stranger_in() -> None:
    with Stage(callers=CALLERS) as stage:
        assert str(stage.ask("HELLO", "3")).startswith("NOAUTH HELLO must be called with")


def test_a_port_may_take_all_for_one_caller() -> None:
    with Stage(callers=CALLERS, caller="desk") as stage:
        assert stage.ask("HG.TAKE", "api", "k")[0] == 1


def test_a_caller_asks_by_its_own_rules_alone() -> None:
    other = {"name": "other", "key": "client.ip", "limit": "1/s"}
    rules = plan({"name": "api", "key": "client.ip", "limit": "5/min"}, other)
    with Stage(rules, CALLERS) as stage, stage.talk() as talk:
        talk.ask("AUTH", "another-token-123")
        names = talk.ask("HG.RULES")
        answers = [
            talk.ask("HG.TAKE", "other", "k"),
            talk.ask("HG.PEEK", "other", "k"),
            talk.ask("HG.RESET", "other", "k"),
            talk.ask("HG.RESERVE", "other", "k", 1),
            talk.ask("HG.HOLD", "other", "k"),
        ]
        brought = talk.ask("CL.THROTTLE", "k", 1, 1, 1)

    assert names == ["api"]
    assert {str(answer) for answer in answers} == {'NOPERM caller "desk" may not ask "other"'}
    assert str(brought) == 'NOPERM caller "desk" may not ask "cl.throttle"'


def test_a_caller_has_a_limit_of_its_own_here() -> None:
    from headgate import Rate

    with Stage(callers={"shop": known(TOKEN, limit=Rate("2/min"))}) as stage, stage.talk() as talk:
        talk.ask("AUTH", TOKEN)
        answers = [talk.ask("PING") for _ in range(3)]

    assert answers[:2] == ["PONG", "PONG"]
    assert str(answers[2]) == 'LIMITED caller "shop" asks too often; try again in 30.000 s'


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: a\r\n"])
def test_a_browser_is_hung_up_on(stage: Stage, line: bytes) -> None:
    with stage.talk() as talk:
        talk.send(line + b"\r\nHG.TAKE api k\r\n")

        assert talk.rest() == b"-ERR this is no HTTP server\r\n"


def test_info_tells_what_clients_look_for(stage: Stage) -> None:
    lines = stage.ask("INFO").splitlines()

    assert "redis_version:7.4.0" in lines
    assert "loading:0" in lines
    assert "connected_clients:1" in lines
