"""A gateway's rules and routes change all the time under load, three in ten of them broken.

Under `make soak` a thousand times in a minute, at three hundred requests a second. Every answer
tells by which rules it was decided, and by which routes it was sent where.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.realtime.conftest import Figures
from tests.realtime.origin import Origin, plan
from tests.realtime.rush import Rush, Visit, evenly, part
from tests.servers.waiting import until
from tests.workers.process import Process

RATE, CLIENTS, PLACES = 300, 20, 8
# For each unit of scale, so many seconds and changes; and where there is little time.
SECONDS, CHANGES = 6.0, 100
BRIEF = 0.4
BROKEN = 0.3
# After so many seconds everybody goes by a change, unless a later one is in force.
SOON = 5.0
# The limit of a rule that nobody reaches is this, and which change it belongs to.
MARK = 1_000_000
LAST = 999_999
# Some files have so many rules more, and take longer to read than what comes after them.
EXTRA = 100
# Who sends only this has a place until the rest of it comes.
POST = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\n"
RULES, ROUTES = re.compile(rb"q=1([0-9]{6});"), re.compile(rb"^([ab]) /v([0-9]+)/$")


class Seen(NamedTuple):
    """A visit, and the number of the change that decided it."""

    begin: float
    end: float
    number: int


class Tale(NamedTuple):
    """All visits, when the good changes were made, and what a crowd was told at the end."""

    visits: list[Visit]
    written: dict[int, float]
    crowd: list[int]


class Service:
    """Two servers, and what rules say of them."""

    def __init__(self, *origins: Origin) -> None:
        self.urls = dict(zip("ab", (origin.url for origin in origins), strict=True))

    def names(self, number: int) -> str:
        """The servers that answer after a change."""
        return Random(number).choice(["a", "b", "ab"])

    def text(self, number: int, limit: int = 0) -> str:
        """Good rules, like no others."""
        chance = Random(~number)
        rate = limit or chance.randint(5, 13)
        group = chance.choice(["one", "two", "three"])
        extra = chance.choice([0, 0, 0, 0, EXTRA])
        return plan(
            {"name": "mark", "limit": f"{MARK + number}/s"},
            {"name": "api", "key": "client.ip", "limit": f"{rate}/s", "concurrent": PLACES},
            *(
                {"name": f"r-{one}", "match": {"path": f"/{one}"}, "deny": True}
                for one in range(extra)
            ),
            upstreams={group: {"servers": [self.urls[name] for name in self.names(number)]}},
            routes=[{"upstream": group, "path": {"add": f"/v{number}"}}],
            # A machine that stands still for some seconds is no change that a client could notice.
            timeouts={"head": "1min", "connect": "1min"},
        )

    def broken(self, chance: Random, number: int) -> str:
        """Bad rules, or bad routes."""
        whole = self.text(number)
        half = whole[: chance.randrange(len(whole) - 1)]
        lost = json.loads(whole)
        lost["gateway"]["routes"][0]["upstream"] = "nowhere"
        wrong = [whole.replace("/s", "/x"), whole.replace("http:", "ftp:"), json.dumps(lost)]
        return chance.choice([half, whole.replace("limit", f"l{number}"), *wrong])


def watched(process: Process) -> None:
    """It sees by itself that a file has changed."""


def told(process: Process) -> None:
    process.signal(signal.SIGHUP)


both = pytest.mark.parametrize(
    ("watch", "tell"), [("0.01", watched), ("0", told)], ids=["watching", "told by SIGHUP"]
)


@both
def test_no_client_notices_a_change(watch: str, tell: Callable[[Process], None]) -> None:
    hold(*played(watch, tell, BRIEF), BRIEF)


@pytest.mark.realtime
@both
def test_no_client_notices_a_thousand_changes_in_a_minute(
    watch: str, tell: Callable[[Process], None], scale: int, figures: Figures
) -> None:
    service, tale = played(watch, tell, scale)
    seen = decided(tale.visits)
    numbers = {one.number for one in seen}
    figures(
        requests=len(tale.visits), changes=CHANGES * scale, good_ones=len(tale.written) - 1,
        met_by_requests=len(numbers), p99_ms=part(tale.visits, 0.99) * 1000,
    )  # fmt: skip

    hold(service, tale, scale)
    assert len(numbers) > 0.1 * CHANGES * scale
    assert stale(seen, tale.written) == []


def played(watch: str, tell: Callable[[Process], None], scale: float) -> tuple[Service, Tale]:
    """Changes under load, and then the last one, under which a crowd comes."""
    with Origin(name="a", work=0.01) as one, Origin(name="b", work=0.01) as other:
        service = Service(one, other)
        with Process(service.text(0), "--workers", "1", "--watch", watch) as process:
            visits, written = asyncio.run(load(service, process, tell, scale))
            process.rules.write_text(service.text(LAST, 1000))
            tell(process)
            until(lambda: newest(process) == LAST, "the last rules to count")
            return service, Tale(visits, written, crowd(process))


def hold(service: Service, tale: Tale, scale: float) -> None:
    """What is true however busy a machine is with others."""
    visits = tale.visits
    assert len(visits) == round(SECONDS * scale * RATE)
    assert {visit.status for visit in visits} == {200, 429}
    rules = decided(visits)
    assert strangers(rules, tale.written) == []
    assert returns(rules) == []
    # Rules and routes change as one.
    assert sent(visits, service) == decided([visit for visit in visits if visit.status == 200])
    assert len({one.number for one in rules}) > 1
    assert tale.crowd == [200] * PLACES + [429]


async def load(
    service: Service, process: Process, tell: Callable[[Process], None], scale: float
) -> tuple[list[Visit], dict[int, float]]:
    """Requests at their rate, and changes at theirs, from a thread."""
    changes = asyncio.ensure_future(asyncio.to_thread(rewrite, service, process, tell, scale))
    visits = await Rush(process.port, sources=CLIENTS).run(evenly(RATE, SECONDS * scale))
    return visits, await changes


def rewrite(
    service: Service, process: Process, tell: Callable[[Process], None], scale: float
) -> dict[int, float]:
    """Change the file again and again; when the good changes were made, by their numbers."""
    chance = Random(11)
    begin = time.monotonic()
    written = {0: begin - SOON}
    for number in range(1, round(CHANGES * scale) + 1):
        # No two clocks go alike for long.
        due = (number + chance.uniform(-0.5, 0.5)) * SECONDS / CHANGES
        time.sleep(max(0.0, begin + due - time.monotonic()))
        if chance.random() < BROKEN:
            write(process.rules, service.broken(chance, number), chance)
        else:
            written[number] = time.monotonic()
            write(process.rules, service.text(number), chance)
        tell(process)
    return written


def write(file: Path, said: str, chance: Random) -> None:
    """As editors do: in place, or beside it and then renamed."""
    if chance.random() < 0.5:
        file.write_text(said)
        return
    beside = file.with_suffix(".new")
    beside.write_text(said)
    os.replace(beside, file)


def newest(process: Process) -> int:
    """By which rules somebody is answered who comes now."""
    (seen,) = decided(asyncio.run(Rush(process.port).run([0.0])))
    return seen.number


def crowd(process: Process) -> list[int]:
    """What they are told who have all places of an address, and then who comes as well."""
    with ExitStack() as stack:
        lines = [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", process.port), 20, ("127.0.1.1", 0))
            )
            for _ in range(PLACES + 1)
        ]
        for line in lines[:PLACES]:
            line.sendall(POST)
        until(lambda: busy(process) == PLACES, "all places to be taken")
        lines[PLACES].sendall(POST)
        last = status(lines[PLACES])
        for line in lines[:PLACES]:
            line.sendall(b"x")
        return [*map(status, lines[:PLACES]), last]


def busy(process: Process) -> int:
    """How many connections to servers are in use."""
    groups = process.ask("GET /status").body["upstreams"].values()
    return sum(server["busy"] for group in groups for server in group.values())


def status(line: socket.socket) -> int:
    """That of an answer."""
    return int(line.recv(4096)[9:12])


def decided(visits: list[Visit]) -> list[Seen]:
    """By which rules."""
    return [
        Seen(visit.begin, visit.end, int(RULES.search(visit.head)[1]))  # type: ignore[index]
        for visit in visits
    ]


def sent(visits: list[Visit], service: Service) -> list[Seen]:
    """By which routes, which lead to no server but their own."""
    found = []
    for visit in visits:
        if visit.status == 200:
            answer: Any = ROUTES.search(visit.body)
            number = int(answer[2])
            assert answer[1].decode() in service.names(number)
            found.append(Seen(visit.begin, visit.end, number))
    return found


def strangers(seen: list[Seen], written: dict[int, float]) -> list[Seen]:
    """Those decided by what was never in force, or not yet."""
    return [one for one in seen if one.number not in written or written[one.number] > one.end]


def stale(seen: list[Seen], written: dict[int, float]) -> list[Seen]:
    """Those decided by what should long have been out of force."""
    numbers, moments = list(written), list(written.values())
    return [
        one
        for one in seen
        if one.number < numbers[max(0, bisect_right(moments, one.begin - SOON) - 1)]
    ]


def returns(seen: list[Seen]) -> list[Seen]:
    """Those decided by what was in force before something that another had seen already."""
    ordered = sorted(seen, key=lambda one: one.end)
    ends = [one.end for one in ordered]
    newest = [0, *accumulate((one.number for one in ordered), max)]
    return [one for one in seen if one.number < newest[bisect_left(ends, one.begin)]]
