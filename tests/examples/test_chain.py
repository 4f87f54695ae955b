"""Three services as processes of their own, one budget, and a centre whose calls are counted."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headgate import Budget, ManualClock, SystemClock
from tests.servers.fixtures import running
from tests.servers.launch import Server
from tests.servers.ports import Port
from tests.servers.waiting import until

CHAIN = Path(__file__).parents[2] / "examples" / "chain.py"
NAMES = ("shop", "price", "stock")
# Two of them, as while one replaces the other.
KEYS = [secrets.token_hex(32), secrets.token_hex(32)]


class Said(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: Any


class Chain:
    """The services where they are, and the centre that they ask."""

    def __init__(self, ports: dict[str, int], centre: Server) -> None:
        self.ports = ports
        self.centre = centre

    def ask(self, name: str, path: str = "/", **headers: str) -> Said:
        line = HTTPConnection("127.0.0.1", self.ports[name], timeout=30)
        line.request(
            "GET", path, headers={name.replace("_", "-"): v for name, v in headers.items()}
        )
        answer = line.getresponse()
        body = answer.read()
        line.close()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Said(answer.status, told, json.loads(body))

    def buy(self, items: int, user: str, plan: str = "") -> Said:
        return self.ask("shop", f"/?items={items}", x_user=user, x_plan=plan)

    def counts(self) -> dict[str, dict[str, int]]:
        """What became of the budget so far, by service."""
        return {name: self.ask(name, "/counts").body for name in NAMES}

    def connected(self) -> int:
        """How many are connected to the centre, but for those who look on."""
        listed: str = self.centre.ask("CLIENT", "LIST")
        ours = ("cmd=client|list", "cmd=monitor")
        return sum(not any(word in line for word in ours) for line in listed.splitlines())


class Since:
    """What has changed since it was made, and what the centre was asked."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.before = chain.counts()
        self.ear = chain.centre.wire()
        self.ear.ask("MONITOR")

    def calls(self) -> int:
        """How often the centre was asked about a limit; that processes say they live is none."""
        word = secrets.token_hex(8)
        self.chain.centre.ask("ECHO", word)
        heard = [str(self.ear.read())]
        while word not in heard[-1]:
            heard.append(str(self.ear.read()))
        asked = [line for line in heard if '"evalsha"' in line.lower() or '"eval"' in line.lower()]
        return sum("{instances}" not in line for line in asked)

    def whole(self) -> bool:
        """Whether all that was granted was spent or has gone back, over all services."""
        granted, spent, returned = (
            sum(self.gained(word)) for word in ("granted", "spent", "returned")
        )
        return granted == spent + returned

    def gained(self, word: str) -> list[int]:
        now = self.chain.counts()
        return [now[name][word] - self.before[name][word] for name in NAMES]


Begin = Callable[[], Since]


@pytest.fixture(scope="module")
def centre() -> Iterator[Server]:
    yield from running(lambda: Server("valkey"))


@pytest.fixture(scope="module")
def chain(centre: Server) -> Iterator[Chain]:
    ports = {name: Port() for name in NAMES}
    told = {
        "HEADGATE_STORE": f"{centre.url}?budget=20",
        "BUDGET_LIMIT": "60/day",
        "BUDGET_KEYS": " ".join(KEYS),
        **{f"{name.upper()}_PORT": str(port.number) for name, port in ports.items()},
    }
    with ExitStack() as stack:
        for name, port in ports.items():
            process = subprocess.Popen(
                [sys.executable, CHAIN, name, "--port", str(port.number)],
                env={**os.environ, **told},
            )
            stack.callback(port.close)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        chain = Chain({name: port.number for name, port in ports.items()}, centre)
        until(lambda: all(chain.ask(name, "/counts").status == 200 for name in NAMES), "services")
        # The first question about a limit is asked twice: the server has to learn it.
        chain.buy(1, "nobody")
        until(lambda: chain.counts()["shop"]["returned"] == 14, "the rest to go back")
        yield chain


@pytest.fixture
def since(chain: Chain) -> Iterator[Begin]:
    """Makes what tells of changes since then."""
    with ExitStack() as stack:

        def begin() -> Since:
            made = Since(chain)
            stack.callback(made.ear.close)
            return made

        yield begin


def granted(clock: Any = None, keys: Any = KEYS) -> str:
    """A header with 20 in it, as a service of ours would send it."""
    text: str = Budget("60/day", grant=20, keys=keys, clock=clock).open().lend().text
    return text


def test_nobody_but_the_entrance_asks_while_funds_last(chain: Chain, since: Begin) -> None:
    then = since()
    answers = [chain.buy(3, f"user {number}") for number in range(5)]

    assert [answer.status for answer in answers] == [200] * 5
    # One visit, and three items: 1, 6 and 9.
    assert answers[0].body == {
        "shop": "19 left here",
        "price": "13 left here",
        "stock": "4 left here",
    }
    assert then.gained("asked") == [5, 0, 0]
    assert then.gained("spent") == [5, 30, 45]
    until(lambda: then.gained("returned") == [20, 0, 0], "the rest to go back")
    # A request is granted something, and gives back the rest: the centre hears of nothing else.
    assert then.calls() == 10
    # The others are not even connected to it.
    assert chain.connected() == 1


def test_the_header_stays_inside(chain: Chain, since: Begin) -> None:
    then = since()
    answer = chain.buy(3, "someone")
    until(lambda: then.gained("returned") == [4, 0, 0], "the rest to go back")

    assert "x-headgate-budget" not in answer.headers


def test_who_goes_short_applies_once_and_goes_on(chain: Chain, since: Begin) -> None:
    then = since()
    answer = chain.buy(5, "carl")

    # 1, 10 and 15: there were 9 for the last.
    assert answer.status == 200
    assert then.gained("reapplied") == [0, 0, 1]
    assert then.gained("asked") == [1, 0, 1]
    assert then.gained("exhausted_midway") == [0, 0, 0]
    # What was granted on the way goes back to the limit by way of the entrance.
    until(lambda: then.gained("returned") == [14, 0, 0], "the rest to go back")
    assert then.calls() == 3


def test_exhausted_midway_is_told_apart_from_refused_at_the_entrance(
    chain: Chain, since: Begin
) -> None:
    then = since()
    first = chain.buy(5, "dora")
    until(lambda: then.gained("returned") == [14, 0, 0], "the rest to go back")
    midway = chain.buy(10, "dora")
    until(then.whole, "the rest to go back")
    entrance = chain.buy(1, "dora")

    assert (first.status, midway.status, entrance.status) == (200, 429, 429)
    assert midway.body["type"] == "urn:headgate:problem:funds-exhausted"
    assert entrance.body["type"].endswith("#quota-exceeded")
    # Who begins again by itself may do so after one, and not after the other.
    assert ("retry-after" in entrance.headers, "retry-after" in midway.headers) == (True, False)
    assert then.gained("exhausted_midway") == [0, 0, 1]
    assert then.gained("refused_at_entrance") == [1, 0, 0]
    # Over all services nothing was spent that was not granted, and nothing was lost.
    assert then.whole()
    assert sum(then.gained("spent")) == 26 + 21
    assert then.gained("broken") == [1, 0, 0]


def test_the_important_never_ask(chain: Chain, since: Begin) -> None:
    then = since()
    answers = [chain.buy(1000, "eve", "vip") for _ in range(3)]

    assert [answer.status for answer in answers] == [200] * 3
    assert answers[0].body["stock"] == "inf left here"
    assert (then.calls(), then.gained("asked")) == (0, [0, 0, 0])


@pytest.mark.parametrize("reason", ["forged", "changed", "expired", "early", "replayed", "garbage"])
def test_what_does_not_count_is_refused_everywhere(chain: Chain, since: Begin, reason: str) -> None:
    now = SystemClock().now() / 1e6
    texts: dict[str, Callable[[], str]] = {
        "forged": lambda: granted(keys="a-key-that-nobody-here-believes-in"),
        "changed": lambda: ("B" if granted()[30] == "A" else "A").join(
            (granted()[:30], granted()[31:])
        ),
        "expired": lambda: granted(ManualClock(now - 60)),
        "early": lambda: granted(ManualClock(now + 60)),
        "replayed": granted,
        "garbage": lambda: "x" * 5000,
    }
    text = texts[reason]()
    if reason == "replayed":
        assert chain.ask("price", x_headgate_budget=text).status == 200
    then = since()
    answer = chain.ask("price", x_headgate_budget=text)
    word = {"changed": "forged", "garbage": "forged", "early": "expired"}.get(reason, reason)

    assert (answer.status, answer.body["title"]) == (403, "Denied")
    assert answer.body["detail"] == f"What the request brought of a budget is {word}."
    assert then.gained(word) == [0, 1, 0]
    assert (then.gained("spent"), then.calls()) == ([0, 0, 0], 0)


def test_what_was_granted_is_good_although_the_centre_is_gone(chain: Chain, centre: Server) -> None:
    text = granted()
    centre.pause()
    try:
        answer = chain.ask("price", "/?items=3", x_headgate_budget=text)
    finally:
        centre.resume()

    assert answer.status == 200
    # And the rest comes back to whoever lent it.
    assert "x-headgate-budget" in answer.headers
