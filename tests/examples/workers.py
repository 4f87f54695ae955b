"""Applications served by several workers: gunicorn or uvicorn, as people start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from headgate import SharedStore
from tests.servers.waiting import until

ROOT = Path(__file__).parents[2]
WORKERS = 4


@contextmanager
def workers(app: str, server: str, name: str) -> Iterator[int]:
    """The port at which four workers serve an application, their limits shared under a name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = {
        "gunicorn": ["gunicorn", "--workers", str(WORKERS), "--bind", f"127.0.0.1:{port}"],
        "uvicorn": [
            "uvicorn", "--workers", str(WORKERS), "--port", str(port), "--log-level", "warning",
        ],
    }[server]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", *command, app],
        cwd=ROOT,
        env={**os.environ, "HEADGATE_STORE": f"shared://{name}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: serves(port), f"{server} to serve {app}")
        yield port
    finally:
        process.terminate()
        process.wait(20)
        SharedStore(name).remove()


def serves(port: int) -> bool:
    try:
        return bool(ask(port, "GET", "/ready")[0])
    except OSError:
        return False


def ask(port: int, method: str, path: str) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer, over a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def crowd(port: int, path: str, size: int) -> list[int]:
    """The statuses of so many requests, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        return [status for status, _ in pool.map(lambda _: ask(port, "GET", path), range(size))]
