"""Stage: `headgate gateway` in a process of its own, by rules and with ports for the demo."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from headgate.cli.top.line import Line
from headgate.cli.trouble import harmless

HOST = "127.0.0.1"
PORT = 8080
RULES = Path(__file__).with_name("gateway.yaml")
# How long what is under way at the end may take.
DRAIN = 1.0


class Gateway(NamedTuple):
    """The process, where it is, how its admin is asked, and what it said last."""

    process: asyncio.subprocess.Process
    port: int
    line: Line
    news: deque[str]


@asynccontextmanager
async def gateway(rules: Path, upstream: int) -> AsyncIterator[Gateway]:
    """A gateway by those rules in front of a service at that port; it is ended at the end."""
    port, admin, token = free(PORT), free(0), secrets.token_urlsafe(16)
    told = {"DEMO_UPSTREAM": str(upstream), "DEMO_ADMIN": str(admin), "DEMO_TOKEN": token}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "headgate.cli", "gateway", rules, "--quiet"),
        *("--listen", f"{HOST}:{port}", "--drain", str(DRAIN)),
        env={**os.environ, **told},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Ctrl-C is ours to answer: the last numbers are read before it ends.
        start_new_session=True,
    )
    running = Gateway(process, port, Line(f"{HOST}:{admin}", token), deque(maxlen=5))
    reading = asyncio.create_task(read(running))
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        await reading


def free(port: int) -> int:
    """This port if nobody has it, or else any that is free."""
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind((HOST, port))
        except OSError:
            line.bind((HOST, 0))
        return int(line.getsockname()[1])


async def read(running: Gateway) -> None:
    """Keep the last of what the gateway says: refusals are lines of JSON, as its audit has them."""
    stream = running.process.stdout
    while line := b"" if stream is None else await stream.readline():
        said = line.decode(errors="replace").rstrip()
        try:
            one = json.loads(said)
            who = f"{one['method']} {one['path']} from {one['client']}"
            said = f"{one['status']}  {one['rule']:<14}{who}"
        except (ValueError, LookupError, TypeError):
            pass
        running.news.append(harmless(said))
