"""Show: the gateway of the demo, what to try with it, and what its rules do meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from headgate import COMPILED, __version__
from headgate.cli.demo import service, visitors
from headgate.cli.demo.stage import HOST, PORT, Gateway, gateway
from headgate.cli.top.line import Unreachable
from headgate.cli.top.picture import ruled
from headgate.cli.top.track import Glance, Track, told
from headgate.clock import SystemClock
from headgate.errors import HeadgateError

# How often numbers are read, and how long the gateway may take to begin.
GLANCE = 1.0
PATIENCE = 60.0
TRIES = {
    "curl -i {0}/v1/hello": "ten a minute; RateLimit tells what is left",
    "curl -i -H 'X-Api-Key: ada' {0}/v1/hello": "a hundred a minute with a key",
    "curl -i -X POST {0}/login": "five in any minute",
    "curl -sZ --parallel-immediate -H 'X-Api-Key: ada' '{0}/v1/slow?[1-8]'": "five at once",
    "curl -o /dev/null {0}/files/big": "one megabyte at 100 KB/s",
    "curl -i -H 'X-Forwarded-For: 203.0.113.9' {0}": "an address that is banned",
}


class Part(NamedTuple):
    """What is played: by which rules, for how long or until it is ended, by whom, and to whom."""

    rules: Path
    once: float | None
    alone: bool
    plain: bool


async def show(console: Console, part: Part) -> None:
    """Start everything, show it until it is over, and end everything."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    with closing(await service.serve()) as server:
        async with gateway(part.rules, server.sockets[0].getsockname()[1]) as running:
            up = await begun(running, over)
            if not up and not over.is_set():
                raise HeadgateError("\n".join(["the gateway does not start:", *running.news]))
            if up:
                await play(console, running, over, part)


async def play(console: Console, running: Gateway, over: asyncio.Event, part: Part) -> None:
    """Have visitors come, and tell of it."""
    if not part.plain:
        greet(console, running.port, part.rules)
    coming = None if part.alone else asyncio.create_task(visitors.come(running.port))
    track = Track()
    if part.once is None:
        await watch(console, running, over, track)
    else:
        track.note(await asyncio.to_thread(running.line.read))
        await pause(over, part.once)
        glance = track.note(await asyncio.to_thread(running.line.read))
        if part.plain:
            console.file.write(f"{json.dumps(told(glance), indent=2)}\n")
        else:
            console.print(numbers(glance))
    if coming is not None:
        coming.cancel()


async def begun(running: Gateway, over: asyncio.Event) -> bool:
    """Whether it serves; False if it ended, if it takes too long, or if it is over anyway."""
    clock = SystemClock()
    end = clock.now() + PATIENCE * 1e6
    while not over.is_set() and clock.now() < end and running.process.returncode is None:
        with suppress(Unreachable):
            await asyncio.to_thread(running.line.read)
            return True
        await pause(over, 0.05)
    return False


def greet(console: Console, port: int, rules: Path) -> None:
    """Say what is there, and what to try."""
    form = "compiled" if COMPILED else "interpreted"
    console.print(f"\n[bold]Headgate {__version__}[/] [dim]({form})[/]")
    if port != PORT:
        console.print(f"Port {PORT} is taken, so it is another one.")
    console.print(f"The gateway is at http://{HOST}:{port}, and goes by", soft_wrap=True)
    console.print(Text(f"{rules}. Try"), soft_wrap=True)
    console.print()
    for line, words in TRIES.items():
        console.print(f"  [dim]# {words}[/]")
        console.print(Text(f"  {line.format(f'localhost:{port}')}"), soft_wrap=True)
    console.print()


async def pause(over: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until it is over."""
    with suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)


async def watch(console: Console, running: Gateway, over: asyncio.Event, track: Track) -> None:
    """Draw the numbers anew every second."""
    with Live(console=console, auto_refresh=False) as live:
        while not over.is_set() and running.process.returncode is None:
            with suppress(Unreachable):
                glance = track.note(await asyncio.to_thread(running.line.read))
                live.update(picture(glance, running), refresh=True)
            await pause(over, GLANCE)


def picture(glance: Glance, running: Gateway) -> RenderableType:
    """The numbers, and below them who was refused last."""
    lines = [Text(f"{line}", "dim", no_wrap=True, overflow="ellipsis") for line in running.news]
    return Group(numbers(glance), Text(), *lines, Text("\nCtrl-C ends it.", "dim"))


def numbers(glance: Glance) -> Any:
    """What each rule lets in and refuses."""
    return ruled(glance, len(glance.reading["rules"]))
