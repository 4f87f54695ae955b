"""Hand: a worker as its master sees it: a process, and a channel to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any

from headgate.workers.channel import Channel
from headgate.workers.rulebook import Rulebook

MODULE = "headgate.workers.worker"
# Of a question whose answer nobody waits for.
GREETING = -1
# How it is with a worker, and nothing that has to be done.
LOOKS = ("status", "reading")
# A worker leaves these to its master, but only once it has begun to run.
HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Hand:
    """A process that serves. `up` is whether it does, `reason` why it could not begin.

    `silent` is how often it was asked for a sign of life since it last said anything.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, channel: Channel, book: Rulebook
    ) -> None:
        self._process = process
        self._channel = channel
        self._book = book
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        # What it has not answered in time, and may yet, by the number of the question.
        self._late: dict[int, str] = {}
        self.up, self.silent = False, 0
        self.reason = ""

    @classmethod
    async def start(
        cls, book: Rulebook, slot: int, lines: Sequence[Sequence[socket.socket]]
    ) -> Hand:
        """Start a worker that listens on these sockets of each door; it is not up yet."""
        mine, theirs = socket.socketpair()
        numbers = [[line.fileno() for line in some] for some in lines]
        # Nothing that lies in the folder one happens to be in is imported.
        command = (sys.executable, "-P", "-m", MODULE, str(theirs.fileno()))
        passed = (theirs.fileno(), *chain(*numbers))
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        try:
            process = await asyncio.create_subprocess_exec(*command, pass_fds=passed)
        finally:
            # Not what was before: another one may be on its way, too.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
            theirs.close()
        channel = await Channel.open(mine)
        channel.send(**book.told(), slot=slot, sockets=numbers)
        return cls(process, channel, book)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    async def begin(self) -> bool:
        """Wait until it is up, or will never be; whether it is."""
        said = await self._receive()
        self.up = "up" in said
        self.reason = said.get("failed", "")
        return self.up

    async def serve(self) -> int:
        """Hear what it has to say until it ends; answers its status."""
        while said := await self._receive():
            self._late.pop(said["id"], None)
            asked = self._asked.pop(said["id"], None)
            if asked is not None and not asked.done():
                asked.set_result(said["answer"])
        self._part()
        await self._channel.close()
        return await self._process.wait()

    def tell(self, order: str, **terms: Any) -> None:
        """Give an order that has no answer."""
        self._channel.send(order=order, **terms)

    async def ask(self, order: str, seconds: float, **terms: Any) -> dict[str, Any]:
        """The answer to an order; nothing if there is none in time.

        Who has yet to say how it was is not asked again, so that nobody waits for it each time.
        """
        if not self.up or (order in LOOKS and order in self._late.values()):
            return {}
        number = next(self._numbers)
        asked = self._asked[number] = asyncio.get_running_loop().create_future()
        self._channel.send(id=number, order=order, **terms)
        try:
            async with asyncio.timeout(seconds):
                # Who ends instead of answering cancels it.
                await asyncio.wait([asked])
        except TimeoutError:
            self._late[number] = order
            return {}
        finally:
            self._asked.pop(number, None)
        return {} if asked.cancelled() else asked.result()

    def greet(self) -> None:
        """Ask for a sign of life; whatever it says is one, however late."""
        self.silent += 1
        self.tell("greet", id=GREETING)

    async def end(self) -> None:
        """End it on the spot."""
        self.kill()
        await self._process.wait()

    def kill(self) -> None:
        """Have it end on the spot; it serves nobody from now on, even if that takes a while."""
        self._part()
        # The `kill` of a process asks whether it has ended; then asyncio is not told, and warns.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _part(self) -> None:
        # Nothing more is to be had from it.
        self.up = False
        for asked in self._asked.values():
            asked.cancel()
        self._asked.clear()
        self._late.clear()

    async def _receive(self) -> dict[str, Any]:
        # It tells of rules whenever it finds some.
        while "text" in (said := await self._channel.receive()):
            self._book.hear(said["text"])
        self.silent = 0
        return said
