"""Applications served by several workers: gunicorn or uvicorn, as people start them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import NamedTuple

from headgate import SharedStore
from tests.conftest import SCALE
from tests.servers.process import ServerProcess

ROOT = Path(__file__).parents[2]
# Each worker takes a second of CPU time to start.
WORKERS = 4 if SCALE > 1 else 2
# The same shop, by what it is made with, and who serves it.
SHOPS = {"fastapi": "uvicorn", "flask": "gunicorn", "django": "gunicorn"}
COMMANDS = {
    "gunicorn": f"gunicorn --workers {WORKERS} --threads 8 --bind 127.0.0.1:PORT",
    "uvicorn": f"uvicorn --workers {WORKERS} --port PORT --log-level warning",
}


class Shop(ServerProcess):
    """Several workers that serve a shop, their limits shared under a name."""

    def __init__(self, kind: str, store: str) -> None:
        served = f"{COMMANDS[SHOPS[kind]]} examples.shop_{kind}:app".split()
        where = ("env", "-C", str(ROOT), f"HEADGATE_STORE=shared://{store}")
        super().__init__(SHOPS[kind], (*where, sys.executable, "-m", *served))

    def is_ready(self) -> bool:
        return bool(ask(self.port, "GET", "/ready").status)


@contextmanager
def shop(kind: str, name: str) -> Iterator[int]:
    """The port at which several workers serve a shop, their limits shared under a name."""
    try:
        with Shop(kind, name) as server:
            yield server.port
    finally:
        SharedStore(name).remove()


class Heard(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@contextmanager
def asking(port: int, method: str, path: str, **headers: str) -> Iterator[HTTPResponse]:
    """An answer on its way, over a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, headers=said)
        yield connection.getresponse()
    finally:
        connection.close()


def ask(port: int, method: str, path: str, **headers: str) -> Heard:
    """The answer, all of it."""
    with asking(port, method, path, **headers) as answer:
        body = answer.read()
        return Heard(answer.status, {n.lower(): value for n, value in answer.getheaders()}, body)


def crowd(port: int, path: str, size: int, **headers: str) -> list[int]:
    """The statuses of so many requests, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        return [
            heard.status
            for heard in pool.map(lambda _: ask(port, "GET", path, **headers), range(size))
        ]
