"""Outages on the machine's own clock: how soon they show, and how soon they are over."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest

from headgate import Limiter, RedisStore, TokenBucket
from tests.faults.caller import COLOURS, Caller
from tests.faults.impostor import Impostor
from tests.servers.fixtures import running
from tests.servers.launch import Server
from tests.servers.process import launch
from tests.servers.proxy import Proxy

pytestmark = pytest.mark.realtime

LIMIT = TokenBucket("1000000/s")
# An outage lasts so long, is to be seen within `SEEN` and over within `OVER` of its end.
LENGTH, SEEN, OVER = 3.0, 1.0, 2.0


class Site(NamedTuple):
    """A server of this test's own, and a proxy before it."""

    server: Server
    proxy: Proxy


class Answer(NamedTuple):
    """When it was had, and whether the server had a part in it."""

    moment: float
    degraded: bool


@pytest.fixture
def site() -> Iterator[Site]:
    for server in running(lambda: Server("valkey")):
        with Proxy(server.port) as proxy:
            yield Site(server, proxy)


FAULTS: dict[str, tuple[Callable[[Site], object], Callable[[Site], object]]] = {
    "stopped": (lambda site: site.server.pause(), lambda site: site.server.resume()),
    "killed": (lambda site: site.server.kill(), lambda site: launch(site.server)),
    "a black hole": (lambda site: site.proxy.blackhole(), lambda site: site.proxy.heal()),
    "refused": (lambda site: refuse(site.proxy), lambda site: site.proxy.heal()),
}


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("fault", FAULTS)
def test_an_outage_shows_within_a_second_and_is_over_within_two(
    fault: str, colour: str, site: Site
) -> None:
    begin, end = FAULTS[fault]
    with Caller(colour, LIMIT, url=site.proxy.url, clock=None) as caller:
        history = asked(caller, 0.5)
        begin(site)
        gone = time.monotonic()
        history += asked(caller, LENGTH)
        end(site)
        back = time.monotonic()
        history += asked(caller, OVER)

    seen = next(answer.moment for answer in history if answer.degraded and answer.moment > gone)
    assert seen < gone + SEEN
    over = next(answer.moment for answer in history if answer.moment > back and not answer.degraded)
    assert over < back + OVER
    # A machine may be late now and then; a server that is back is asked again all the same.
    after = [answer.degraded for answer in history if answer.moment > over]
    assert sum(after) < len(after) / 2
    # Meanwhile nobody waits longer than it takes to find out that it lasts.
    assert max(after.moment - before.moment for before, after in pairwise(history)) < SEEN


def asked(caller: Caller, seconds: float) -> list[Answer]:
    """What is answered for so long, a hundred times a second."""
    answers = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answers.append(Answer(time.monotonic(), caller.take().without))
        time.sleep(0.01)
    return answers


def refuse(proxy: Proxy) -> None:
    """Hang up on everybody, and let nobody in."""
    proxy.refuse()
    proxy.reset()


def test_signals_do_not_give_a_silent_server_more_time() -> None:
    # Each one interrupts the wait, which must go on with what is left of its time.
    usual = signal.signal(signal.SIGALRM, lambda *_: None)
    with Impostor(lambda words: b"") as silent:
        url = f"redis://127.0.0.1:{silent.port}"
        limiter = Limiter(LIMIT, store=RedisStore(url, 0.05), when_unavailable="deny")
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        try:
            begin = time.perf_counter()
            decision = limiter.take("k")
            took = time.perf_counter() - begin
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, usual)

    assert decision.degraded
    assert took < 0.25
