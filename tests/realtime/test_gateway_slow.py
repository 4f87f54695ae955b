"""Clients that take their time are cut, and others do not notice them.

Some send a byte of a head now and then, others stop in the middle of a body, or go on with it byte
by byte, or hardly take in an answer. Under `make soak` there are two thousand of them for half a
minute, and two hundred requests a second are answered as fast as without them. That is seen at a
twin of the gateway, at the same time: whatever else a machine does meanwhile, it does to both.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import SCALE
from tests.realtime.conftest import Figures
from tests.realtime.machine import Lull
from tests.realtime.origin import Origin, files, most, plan, worker
from tests.realtime.rush import Rush, Visit, evenly, part
from tests.servers.keeper import keeper
from tests.servers.waiting import until
from tests.workers.process import Process

PROGRAM = Path(__file__).with_name("snails_process.py")
RATE = 200
# For each unit of scale so many heads, and others of each kind, and so many seconds. A second is
# what a head may take, and all else, but for a request as a whole.
HEADS, OTHERS = 200, 4
SECONDS = 3.0 if SCALE > 1 else 2.0
TOTAL = 2
# The gateway looks ten times a second; a machine that has other things to do looks less often.
EARLY, LATE = 0.5, 1.5
# A machine that stands still for so many seconds makes everybody slow; it is tried again then.
STILL, TRIES = 0.4, 6


class Row(NamedTuple):
    """A slow client: how long it lasted, what it heard, whether it was cut or left."""

    kind: str
    lasted: float
    heard: str
    cut: bool

    def span(self, scale: int) -> float:
        """How long it may last."""
        return scale * (TOTAL if self.kind == "drops" else 1.0)


class Tale(NamedTuple):
    """Good requests at the gateway and at its twin, slow clients, and how many files were open.

    That is before they came, at most meanwhile, and how many there may be.
    """

    visits: list[Visit]
    twins: list[Visit]
    rows: list[Row]
    before: int
    peak: int
    limit: int


@pytest.mark.serial
def test_slow_clients_are_cut_and_others_are_served() -> None:
    for _ in range(TRIES):
        with Lull() as lull:
            tale = played(1)
        if lull.longest < STILL:
            hold(tale, 1)
            return
    pytest.skip(f"{TRIES} times in a row the machine stood still for {STILL} s or more")


@pytest.mark.realtime
def test_others_do_not_notice_slow_clients(scale: int, figures: Figures) -> None:
    tale = played(scale)
    slow, usual = part(tale.visits, 0.99), part(tale.twins, 0.99)
    late = [row for row in tale.rows if row.kind != "readers" and over(row, scale) > LATE]
    figures(
        slow_clients=len(tale.rows), files=tale.peak,
        p99_ms_with_them=slow * 1000, without=usual * 1000,
    )  # fmt: skip

    hold(tale, scale)
    assert late == []
    assert slow <= 2 * usual


def played(scale: int) -> Tale:
    """What comes of it."""
    heads = HEADS * scale
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2 * heads:
        pytest.skip(f"{hard} open files are too few for {heads} slow clients; see ulimit -Hn")
    with Origin() as origin, ExitStack() as stack:
        # Both start at the same time.
        started = [fronted(origin, scale) for _ in range(2)]
        gateway, twin = (stack.enter_context(one) for one in started)
        pid, ports = worker(gateway), [gateway.port, twin.port]
        asyncio.run(visited(ports, pid, 0.1))
        before = until(lambda: not lent(gateway, "idle") and files(pid), "a quiet gateway")
        with Snails(gateway.port, scale) as snails:
            until(lambda: files(pid) > before + 0.8 * heads, "the slow ones", 20.0 * scale)
            visits, twins, peak = asyncio.run(visited(ports, pid, SECONDS * scale))
            # Who holds up a server is cut, however little it is that it takes in.
            until(lambda: not lent(gateway, "busy"), "servers to be free", 20.0 + TOTAL * scale)
            # All who were cut at once are gone for a moment: it is enough that they come back.
            until(
                lambda: files(pid) > before + heads / 2, "the slow ones to come back", 20.0 * scale
            )
            limit = most(pid)
        until(lambda: files(pid) <= before, "all files to be closed")
    return Tale(visits, twins, snails.rows, before, peak, limit)


def hold(tale: Tale, scale: int) -> None:
    """What is true however busy a machine is with others."""
    heads = HEADS * scale
    cut = [row for row in tale.rows if row.cut and row.kind != "readers"]
    missed = [visit for visit in [*tale.visits, *tale.twins] if visit.status != 200]
    # Who takes as long as a head may, because the machine does, is slow as well, in the short form.
    assert [visit for visit in missed if scale > 1 or visit.took < 1.0] == []
    assert {row.heard for row in cut} == {"HTTP/1.1 408 "}
    assert [row for row in cut if over(row, scale) < -EARLY] == []
    assert {row.kind for row in tale.rows} == {"heads", "bodies", "drops", "readers"}
    # They come back, and still there are never more of them than there should be.
    assert sum(row.kind == "heads" for row in cut) > heads
    assert tale.peak < min(tale.before + 3 * heads, tale.limit)


def over(row: Row, scale: int) -> float:
    """By how many seconds it lasted longer than it may."""
    return row.lasted - row.span(scale)


def fronted(origin: Origin, scale: int) -> Process:
    """A gateway whose deadlines come several times in a test."""
    span = f"{scale}s"
    text = plan(
        {"name": "all", "key": "client.ip", "limit": "1000000/s"},
        # Who is slow with a body has a connection to a server, too.
        upstreams={"one": {"servers": origin.url, "connections": 0, "idle": "1s"}},
        routes=[{"upstream": "one"}],
        timeouts={"head": span, "body": span, "send": span, "total": f"{TOTAL * scale}s"},
    )
    return Process(text, "--workers", "1")


def lent(gateway: Process, state: str) -> int:
    """How many connections to servers there are of that state."""
    (server,) = gateway.ask("GET /status").body["upstreams"]["one"].values()
    return int(server[state])


async def visited(
    ports: list[int], pid: int, seconds: float
) -> tuple[list[Visit], list[Visit], int]:
    """Good requests at their rate at both ports, and the most files that were open meanwhile."""
    peak = 0

    async def look() -> None:
        nonlocal peak
        while True:
            peak = max(peak, files(pid))
            # To look takes a while, in which no answer is heard.
            await asyncio.sleep(1.0)

    looking = asyncio.ensure_future(look())
    found = await asyncio.gather(*(Rush(port).run(evenly(RATE, seconds)) for port in ports))
    looking.cancel()
    return found[0], found[1], peak


class Snails:
    """The slow ones, from the first line of a `with` to its last; then `rows` tell of them."""

    def __init__(self, port: int, scale: int) -> None:
        told = {
            "port": port, "heads": HEADS * scale, "others": OTHERS * scale, "seed": 11,
            "pause": scale / 4, "span": scale, "seconds": SECONDS * scale,
        }  # fmt: skip
        self.folder = keeper().room("snails")
        # Elsewhere they would not keep others from a CPU.
        self.process = keeper().start(
            self.folder, "nice", "-n", "19", sys.executable, "-P", str(PROGRAM), json.dumps(told)
        )
        self.rows: list[Row] = []

    def __enter__(self) -> Snails:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait(20)
            keeper().forget(self.folder, self.process)
        if kind is None:
            said = (self.folder / "log").read_text()
            self.rows = [Row(*row) for row in json.loads(said)]
