"""Who calls, whether they may, and how often."""

from __future__ import annotations

import pytest

from tests.service.grpc.hosting import Caller, Callers, Place
from tests.service.grpc.talking import Talk, begin, call, data, fine, message

NOBODY = "grpc-status=16 grpc-message=there is no token, or nobody has it end"
CHECK = "/grpc.health.v1.Health/Check"

BY_TOKEN = {
    "authorization": {"authorization": "Bearer secret"},
    "authorization in capitals": {"authorization": "BEARER  secret"},
    "a header of ours": {"x_headgate_token": "secret"},
}
WRONG = {
    "nothing": {},
    "another token": {"authorization": "Bearer other"},
    "another scheme": {"authorization": "Basic secret"},
    "no scheme": {"authorization": "secret"},
    "an empty token": {"authorization": "Bearer"},
}


@pytest.mark.parametrize("said", BY_TOKEN.values(), ids=BY_TOKEN)
def test_who_has_a_token_may_call(said: dict[str, str]) -> None:
    envoy = Caller("envoy")
    with Talk(Place(Callers(True, secret=envoy))) as talk:
        assert talk.ask(call(1, **said)) == fine(1)
        assert talk.place.chatter.calls[0].caller is envoy
        assert talk.channel.caller is envoy


@pytest.mark.parametrize("said", WRONG.values(), ids=WRONG)
def test_who_has_none_may_not_where_one_is_needed(said: dict[str, str]) -> None:
    with Talk(Place(Callers(True, secret=Caller("envoy")))) as talk:
        assert talk.ask(begin(1, **said)) == [f"headers 1 {NOBODY}", "reset 1 NO_ERROR"]
        assert talk.ask(data(1, message(b"hello"))) == []
    with Talk(Place(Callers(False, secret=Caller("envoy")))) as talk:
        assert talk.ask(call(1, **said)) == fine(1)
        assert talk.place.chatter.calls[0].caller is None


def test_a_port_may_have_a_caller_of_its_own() -> None:
    envoy, other = Caller("envoy"), Caller("other")
    with Talk(Place(Callers(True, secret=envoy, another=other), "other")) as talk:
        assert talk.ask(call(1)) == fine(1)
        assert talk.place.chatter.calls[0].caller is other
        assert talk.ask(call(3, authorization="Bearer secret")) == fine(3)
        assert talk.place.chatter.calls[0].caller is envoy


def test_who_calls_too_often_is_told_so() -> None:
    with Talk(Place(Callers(True, secret=Caller("envoy", 2)))) as talk:
        token = {"authorization": "Bearer secret"}
        told = talk.ask(call(1, **token) + call(3, **token) + call(5, **token))
        assert told == [
            *fine(1),
            *fine(3),
            "headers 5 grpc-status=8 grpc-message=envoy calls too often end",
            "reset 5 NO_ERROR",
        ]
        assert talk.place.hall.refused == 1
        assert talk.place.hall.asked == 3


def test_anybody_may_ask_whether_the_service_is_well() -> None:
    with Talk(Place(Callers(True))) as talk:
        assert talk.ask(call(1, b"", path=CHECK)) == fine(1, b"\x08\x01")
