"""A proxy that stands before a server and does to its connections what networks do.

It has an event loop in a thread of its own, so the tests may be of either colour. When a verb
returns, it holds: for all connections that are open and all that will be, until the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from threading import Thread

from tests.servers import faults
from tests.servers.faults import Fault
from tests.servers.line import Line
from tests.servers.ports import Port


class Proxy:
    """Listens on `port` and speaks for the server on the port `target`, which may be changed.

    At most one fault bends the replies; the next takes its place. `refuse` and `reject` are about
    new connections and go with any of them; `heal` ends everything. What the client asks goes to
    the server as it is. `open` counts the connections that are open and `total` all that were
    made, `asked` the bytes passed on to the server and `answered` those passed on to clients.
    """

    def __init__(self, target: int, seed: int = 0) -> None:
        self.target = target
        self.chance = Random(seed)
        self.total = 0
        self.asked = 0
        self.answered = 0
        self.lines: set[Line] = set()
        self.fault: Callable[[], Fault] = faults.plain
        self.rejecting = False
        self.healthy = asyncio.Event()
        self.door: asyncio.Server | None = None
        self.place = Port()
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, name="proxy", daemon=True)
        self.thread.start()
        self.heal()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        return self.place.number

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        return len(self.lines)

    def latency(self, seconds: float, jitter: float = 0.0) -> None:
        """Replies come later by so much, give or take the jitter; in order, however many."""
        self.tell(self.change(lambda: faults.latency(seconds, jitter, self.chance)))

    def blackhole(self) -> None:
        """Connections are accepted and read, the server hears nothing, nobody answers.

        The next verb resets those that lost bytes: TCP may be late, but it does not skip.
        """
        self.tell(self.change(faults.blackhole))

    def cut(self, size: int) -> None:
        """On each connection `size` more bytes of replies come through, then it is reset."""
        self.tell(self.change(lambda: faults.cut(size)))

    def slices(self, size: int, pause: float = 0.001) -> None:
        """Replies come `size` bytes at a time, `pause` seconds apart."""
        self.tell(self.change(lambda: faults.slices(size, pause)))

    def duplicate(self) -> None:
        """Every chunk of replies comes twice."""
        self.tell(self.change(faults.duplicate))

    def swap(self) -> None:
        """Of every two replies on a connection the second comes first.

        The first waits for it, so this is for commands that are sent without waiting.
        """
        self.tell(self.change(faults.swap))

    def corrupt(self) -> None:
        """One byte of every chunk of replies comes as another, as the seed will have it."""
        self.tell(self.change(lambda: faults.corrupt(self.chance)))

    def reset(self) -> None:
        """All open connections are reset, once; new ones are welcome."""
        self.tell(self.drop())

    def reject(self) -> None:
        """All open connections are reset, and every new one as soon as it is made."""
        self.rejecting = True
        self.tell(self.drop())

    def refuse(self) -> None:
        """Nobody listens any more: new connections are refused, open ones go on."""
        self.tell(self.shut())

    def heal(self) -> None:
        """All is passed on again; what was late or held back comes now."""
        self.rejecting = False
        self.tell(self.recover())

    def close(self) -> None:
        """Hang up everywhere and give the port back."""
        if self.loop.is_closed():
            return
        self.tell(self.shut())
        self.tell(self.drop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.place.close()

    def tell(self, errand: Coroutine[None, None, None]) -> None:
        """Do `errand` where the connections live, and come back when it is done."""
        asyncio.run_coroutine_threadsafe(errand, self.loop).result(10)

    async def change(self, fault: Callable[[], Fault]) -> None:
        await self.welcome()
        self.healthy.clear()
        self.fault = fault
        for line in self.lines:
            line.bend(fault())
        await drop([line for line in self.lines if line.lossy])

    async def drop(self) -> None:
        await self.welcome()
        await drop(list(self.lines))

    async def shut(self) -> None:
        await self.welcome()
        if self.door is not None:
            self.door.close()
        self.door = None

    async def recover(self) -> None:
        await self.change(faults.plain)
        self.healthy.set()
        if self.door is None:
            self.door = await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    async def welcome(self) -> None:
        """Let those in who knocked before the verb was said; asyncio takes some turns for that."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.total += 1
        line = Line(self, (reader, writer))
        self.lines.add(line)
        try:
            await line.run()
        finally:
            self.lines.remove(line)
            line.over.set()


async def drop(lines: list[Line]) -> None:
    """Reset them, and wait until that has happened."""
    for line in lines:
        line.drop()
    for line in lines:
        await line.over.wait()
