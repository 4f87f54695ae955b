"""A gateway in front of a small service, and what its rules let in and refuse, as it happens.

    make run                                    # or python examples/demo.py
    python examples/demo.py --alone             # only you, and none of the demo's own visitors
    python examples/demo.py --once 3            # three seconds, then one table; for pipes and CI

Everything is on this machine: the service of demo_upstream.py, `headgate gateway` with the rules of
gateway.yaml, and the visitors of demo_visitors.py. Ctrl-C ends all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
import socket
import sys
import time
from collections import deque
from contextlib import asynccontextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import demo_upstream
import demo_visitors

import headgate
from headgate import MissingExtra

try:
    import yaml
    from rich import box
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text
except ImportError:
    sys.exit(str(MissingExtra("demo")))

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rich.console import RenderableType

# By the name of a rule.
Counts = dict[str, dict[str, int]]

HOST = "127.0.0.1"
PORT = 8080
RULES = Path(__file__).with_name("gateway.yaml")
# How often numbers are read, how long the gateway may take to begin, and to end.
GLANCE = 1.0
PATIENCE = 60.0
DRAIN = 1.0
# In a pipe nobody looks on: so many seconds, then one table.
BRIEF = 3.0
# What a rule does, in the words of the file.
WORDS = ("limit", "concurrent", "bandwidth", "adaptive", "deny")
COUNTED, STYLES = ("passed", "refused"), ("green", "red")
TRIES = {
    "curl -i {0}/v1/hello": "ten a minute; RateLimit tells what is left",
    "curl -i -H 'X-Api-Key: ada' {0}/v1/hello": "a hundred a minute with a key",
    "curl -i -X POST {0}/login": "five in any minute",
    "curl -sZ --parallel-immediate -H 'X-Api-Key: ada' '{0}/v1/slow?[1-8]'": "five at once",
    "curl -o /dev/null {0}/files/big": "one megabyte at 100 KB/s",
    "curl -i -H 'X-Forwarded-For: 203.0.113.9' {0}": "an address that is banned",
}


class Gateway(NamedTuple):
    """The process, where it is, and what it said last."""

    process: asyncio.subprocess.Process
    port: int
    admin: int
    token: str
    news: deque[str]

    def status(self) -> dict[str, Any]:
        """What it has counted, by its admin; OSError if that does not answer."""
        line = HTTPConnection(HOST, self.admin, timeout=5)
        try:
            line.request("GET", "/status", headers={"authorization": f"Bearer {self.token}"})
            found: dict[str, Any] = json.loads(line.getresponse().read())
            return found
        finally:
            line.close()


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="A gateway, and what its rules do.")
    parser.add_argument("--alone", action="store_true", help="have no visitors but you")
    parser.add_argument("--once", type=float, metavar="SECONDS", help="end with one table")
    said = parser.parse_args()
    console = Console(highlight=False)
    once = said.once if said.once is not None or console.is_terminal else BRIEF
    asyncio.run(show(console, once, said.alone))


async def show(console: Console, once: float | None, alone: bool) -> None:
    """Start everything, show it until it is over, and end everything."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    server = await demo_upstream.serve()
    async with gateway(server.sockets[0].getsockname()[1]) as running:
        up = await begun(running, over)
        if over.is_set():
            return
        if not up:
            sys.exit("\n".join(["the gateway does not start:", *running.news]))
        greet(console, running.port)
        visitors = asyncio.create_task(demo_visitors.come(running.port)) if not alone else None
        if once is None:
            await watch(console, running, over)
        else:
            await pause(over, once)
            counts = (await asyncio.to_thread(running.status))["rules"]
            console.print(table(counts))
        if visitors is not None:
            visitors.cancel()
    server.close()


@asynccontextmanager
async def gateway(upstream: int) -> AsyncIterator[Gateway]:
    """`headgate gateway` in a process of its own, which is ended at the end."""
    port, admin, token = free(PORT), free(0), secrets.token_urlsafe(16)
    told = {"DEMO_UPSTREAM": str(upstream), "DEMO_ADMIN": str(admin), "DEMO_TOKEN": token}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "headgate.cli", "gateway", RULES, "--quiet"),
        *("--listen", f"{HOST}:{port}", "--drain", str(DRAIN)),
        env={**os.environ, **told},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Ctrl-C is ours to answer: the last numbers are read before it ends.
        start_new_session=True,
    )
    running = Gateway(process, port, admin, token, deque(maxlen=5))
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
    async for line in running.process.stdout:
        said = line.decode(errors="replace").rstrip()
        try:
            one = json.loads(said)
        except ValueError:
            running.news.append(said)
        else:
            who = f"{one['method']} {one['path']} from {one['client']}"
            running.news.append(f"{one['status']}  {one['rule']:<14}{who}")


async def begun(running: Gateway, over: asyncio.Event) -> bool:
    """Whether it serves; False if it ended, if it takes too long, or if it is over anyway."""
    end = time.monotonic() + PATIENCE
    while not over.is_set() and time.monotonic() < end and running.process.returncode is None:
        with suppress(OSError):
            await asyncio.to_thread(running.status)
            return True
        await pause(over, 0.05)
    return False


def greet(console: Console, port: int) -> None:
    """Say what is there, and what to try."""
    form = "compiled" if headgate.COMPILED else "interpreted"
    console.print(f"\n[bold]Headgate {headgate.__version__}[/] [dim]({form})[/]")
    if port != PORT:
        console.print(f"Port {PORT} is taken, so it is another one.")
    console.print(f"The gateway is at http://{HOST}:{port}, and goes by {RULES.name}. Try")
    console.print()
    for line, words in TRIES.items():
        console.print(f"  [dim]# {words}[/]")
        console.print(Text(f"  {line.format(f'localhost:{port}')}"), soft_wrap=True)
    console.print()


async def pause(over: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until it is over."""
    with suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)


async def watch(console: Console, running: Gateway, over: asyncio.Event) -> None:
    """Draw the numbers anew every second."""
    before: Counts = {}
    moment = time.monotonic()
    with Live(console=console, auto_refresh=False) as live:
        while not over.is_set() and running.process.returncode is None:
            with suppress(OSError):
                counts = (await asyncio.to_thread(running.status))["rules"]
                now = time.monotonic()
                numbers = table(counts, paces(counts, before, now - moment))
                live.update(picture(numbers, running.news), refresh=True)
                moment, before = now, counts
            await pause(over, GLANCE)


def picture(numbers: Table, news: deque[str]) -> RenderableType:
    """The numbers, and below them who was refused last."""
    lines = [Text(f"  {line}", "dim", no_wrap=True, overflow="ellipsis") for line in news]
    return Group(numbers, *lines, Text("\n  Ctrl-C ends it.", "dim"))


def paces(counts: Counts, before: Counts, seconds: float) -> dict[str, list[float]]:
    """How many requests a second each rule let in and refused since then."""
    return {
        name: [(one[word] - before.get(name, one)[word]) / seconds for word in COUNTED]
        for name, one in counts.items()
    }


def table(counts: Counts, fast: dict[str, list[float]] | None = None) -> Table:
    """What each rule let in and refused, in all and by the second."""
    made = Table(box=box.SIMPLE_HEAD, header_style="dim")
    made.add_column("rule", no_wrap=True)
    made.add_column("does", no_wrap=True)
    for head in (*(("let in/s", "refused/s") if fast else ()), "let in", "refused"):
        made.add_column(head, justify="right")
    does = described()
    for name, one in counts.items():
        pace = [f"{number:.1f}" for number in fast[name]] if fast else []
        totals = [Text(str(one[word]), style) for word, style in zip(COUNTED, STYLES, strict=True)]
        made.add_row(name, does.get(name, ""), *pace, *totals)
    return made


def described() -> dict[str, str]:
    """What each rule does, as the file has it; nothing while somebody is writing it."""
    try:
        rules = yaml.safe_load(RULES.read_text())["rules"]
        return {rule["name"]: does(rule) for rule in rules}
    except (yaml.YAMLError, LookupError, TypeError):
        return {}


def does(rule: dict[str, Any]) -> str:
    """What a rule does, in a few words."""
    found = []
    for word in (word for word in WORDS if word in rule):
        value = rule[word]["by"] if isinstance(rule[word], dict) else rule[word]
        found.append(word if value is True else f"{word} {value}")
    return ", ".join(found)


if __name__ == "__main__":
    main()
