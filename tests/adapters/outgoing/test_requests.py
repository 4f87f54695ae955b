"""A session of requests keeps to a pace and does as a server says."""

from __future__ import annotations

import builtins
import importlib
import io
import sys
from typing import Any

import pytest

from headgate import LimitExceeded, ManualClock, MissingExtra
from headgate.adapters.outgoing.pace import Pace
from tests.adapters.outgoing.server import REFUSED, Answer, Asked, serving

requests = pytest.importorskip("requests")


def session(pace: Pace) -> Any:
    """One that has one connection: who does not close an answer leaves none for the next."""
    from headgate.adapters.outgoing.requests import Adapter

    found = requests.Session()
    found.trust_env = False
    found.mount("http://", Adapter(pace, pool_maxsize=1, pool_block=True))
    return found


def test_a_refused_request_is_sent_again_when_it_may(clock: ManualClock) -> None:
    with serving(REFUSED, REFUSED) as server, session(Pace(jitter=0.0, clock=clock)) as client:
        answer = client.get(server.url)

    assert (answer.status_code, answer.text) == (200, "welcome")
    assert len(server.asked) == 3
    assert clock.now() == 10_000_000


@pytest.mark.parametrize("body", [b"kept", "kept", None])
def test_a_body_in_memory_is_sent_again(body: Any, clock: ManualClock) -> None:
    with serving(REFUSED) as server, session(Pace(clock=clock)) as client:
        answer = client.post(server.url, data=body)

    assert answer.status_code == 200
    assert server.asked == [Asked("POST", "/here", b"kept" if body else b"")] * 2


@pytest.mark.parametrize("make", [lambda: iter([b"gone"]), lambda: io.BytesIO(b"gone")])
def test_a_body_that_was_streamed_is_not(make: Any, clock: ManualClock) -> None:
    with serving(REFUSED) as server, session(Pace(clock=clock)) as client:
        answer = client.post(server.url, data=make())

    assert (answer.status_code, answer.content) == (429, REFUSED.body)
    assert server.asked == [Asked("POST", "/here", b"gone")]


def test_requests_leave_at_the_pace(clock: ManualClock) -> None:
    with serving() as server, session(Pace("1/s", clock=clock)) as client:
        for _ in range(4):
            client.get(server.url)

    assert clock.now() == 3_000_000


def test_who_would_wait_too_long_is_told_and_nothing_is_sent(clock: ManualClock) -> None:
    answer = Answer(503, (("Retry-After", "61"),))
    with serving(answer) as server, session(Pace(clock=clock)) as client:
        client.get(server.url)
        with pytest.raises(LimitExceeded) as refusal:
            client.get(server.url)

    assert refusal.value.retry_after == 61.0
    assert len(server.asked) == 1


def test_an_adapter_has_a_pace() -> None:
    from headgate.adapters.outgoing.requests import Adapter

    with pytest.raises(TypeError) as refusal:
        Adapter("10/s")  # type: ignore[arg-type]
    assert str(refusal.value) == "Adapter: pace is a Pace such as Pace(\"10/s\"), not '10/s'"


def test_without_requests_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.partition(".")[0] == "requests":
            raise ImportError(name)
        return whole(name, *args)

    monkeypatch.delitem(sys.modules, "headgate.adapters.outgoing.requests", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra) as refusal:
        importlib.import_module("headgate.adapters.outgoing.requests")
    assert str(refusal.value) == (
        'the extra "requests" is not installed; try pip install "headgate[requests]"'
    )
