"""A long body passes through a gateway in either direction, whole, and takes no room there.

Under `make soak` it is a gibibyte, four at a time, and one in chunks for somebody who does not
take it in at first.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.conftest import SCALE
from tests.gateway.apart import Apart
from tests.gateway.backing import Backing
from tests.gateway.staging import plan as staged
from tests.gateway.streams import digest, download, upload
from tests.gateway.test_bodies import stand
from tests.realtime.conftest import Figures
from tests.realtime.origin import Origin, forget, peak, plan, worker
from tests.realtime.origin_process import BLANK, BLOCK, LENGTH
from tests.workers.process import Process

MIB, GIB = 1 << 20, 1 << 30
MOST = 64 * MIB
# A body of `make test`: several times what a gateway may grow by.
LONG = GIB if SCALE > 1 else GIB // 4
# A net for tests that fail.
SECONDS = 300.0

Way = Callable[[int, int], tuple[int, int]]


def down(port: int, size: int) -> tuple[int, int]:
    """Get a body: its size, and its checksum."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as line:
        line.sendall(b"GET /bytes/%d HTTP/1.1\r\nHost: a.test\r\n\r\n" % size)
        head, body = headed(line)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        room = memoryview(bytearray(MIB))
        got, found = len(body), zlib.crc32(body)
        while got < size and (count := line.recv_into(room)):
            got += count
            found = zlib.crc32(room[:count], found)
        return got, found


def up(port: int, size: int) -> tuple[int, int]:
    """Send a body: its size, and its checksum, as the server found them."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as line:
        line.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n" % size)
        left = size
        while left:
            part = BLOCK[:left]
            line.sendall(part)
            left -= len(part)
        head, body = headed(line)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        while len(body) < int(LENGTH.search(head)[1]):  # type: ignore[index]
            body += line.recv(MIB)
        found = re.fullmatch(rb"([0-9]+) ([0-9]+)", body)
        assert found is not None
        return int(found[1]), int(found[2])


@pytest.mark.parametrize("way", [down, up])
def test_a_long_body_passes_through_whole_and_takes_no_room(way: Way) -> None:
    assert passed(way, 1, LONG) <= MOST


@pytest.mark.realtime
@pytest.mark.parametrize("way", [down, up])
def test_four_at_a_time_take_no_room_either(way: Way, figures: Figures) -> None:
    grown = passed(way, 4, GIB)
    figures(grown_MiB=grown / MIB)

    assert grown <= MOST


@pytest.mark.realtime
@pytest.mark.parametrize("pass_on", [download, upload], ids=["down", "up"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_who_does_not_take_it_in_has_all_wait(
    pass_on: Any, chunked: bool, figures: Figures
) -> None:
    with Backing() as server, Apart(staged(server.url, upstream={"idle": "0s"})) as apart:
        connect = partial(socket.create_connection, ("127.0.0.1", apart.port), 60)
        pass_on(connect, server, MIB, chunked, stand)
        before = apart.settle()
        received = pass_on(connect, server, GIB, chunked, stand)
        grown = apart.peak() - before
    figures(grown_MiB=grown / MIB)

    assert (received.size, received.digest()) == (GIB, digest(GIB))
    assert grown <= MOST


def passed(way: Way, lines: int, size: int) -> int:
    """So many bodies at once: by how much a gateway has grown when all have passed whole."""
    with Origin() as origin, Process(rules(origin), "--workers", "1") as gateway:
        pid = worker(gateway)
        # What is needed for any body at all is not what is measured.
        way(gateway.port, MIB)
        before = forget(pid)
        with ThreadPoolExecutor(lines) as pool:
            found = list(pool.map(lambda _: way(gateway.port, size), range(lines)))
        grown = peak(pid) - before
    assert found == [(size, checksum(size))] * lines
    return grown


def rules(origin: Origin) -> str:
    """No limit but time."""
    return plan(
        {"name": "all", "key": "client.ip", "limit": "1000000/s"},
        upstreams={"one": origin.url},
        routes=[{"upstream": "one"}],
        timeouts={"total": f"{SECONDS:g}s"},
    )


def headed(line: socket.socket) -> tuple[bytes, bytes]:
    """The head of an answer, and what came with it."""
    heard = b""
    while BLANK not in heard:
        data = line.recv(MIB)
        assert data, "there is no answer"
        heard += data
    head, _, body = heard.partition(BLANK)
    return head + BLANK, body


def checksum(size: int) -> int:
    """The checksum of such a body."""
    found = 0
    while size:
        part = BLOCK[:size]
        found = zlib.crc32(part, found)
        size -= len(part)
    return found
