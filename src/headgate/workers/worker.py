"""Worker: a process that serves. It does what its master tells it, and ends when that is gone.

    python -m headgate.workers.worker NUMBER

The number is that of a socket which leads to the master. The first line there says what to go by,
and which sockets to listen on; nothing of that is seen in a list of processes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from headgate.errors import HeadgateError
from headgate.rules.live.lodge import Lodge
from headgate.rules.live.standing import lift, stand
from headgate.rules.live.trial import Trial
from headgate.rules.watch.sources import Text
from headgate.workers import journal, rulebook
from headgate.workers.channel import Channel
from headgate.workers.files import shortage, stretch
from headgate.workers.orders import Orders
from headgate.workers.origin import Standing

logger = logging.getLogger("headgate.workers")

# What a terminal, or a supervisor of all processes, sends to everybody is the master's to answer.
UNHEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main() -> None:
    """Serve until it is told to end; the process ends with 0, or with 1 if it could not begin."""
    for number in UNHEARD:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, UNHEARD)
    stretch()
    line = socket.socket(fileno=int(sys.argv[1]))
    with asyncio.Runner(loop_factory=factory()) as runner:
        served = runner.run(serve(line))
    sys.exit(0 if served else 1)


def factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the loop: uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return None
    return uvloop.new_event_loop


async def serve(line: socket.socket) -> bool:
    """Begin, obey, and end; whether it could begin."""
    channel = await Channel.open(line)
    first = await channel.receive()
    if not first:
        return False
    orders = Orders.heard(first["orders"])
    journal.keep(orders.quiet, first["slot"], orders.log)
    origin = Standing(orders.origin, rulebook.heard(first["text"]), teller(channel))
    listen = rulebook.terms(orders.serves, first["listen"])
    several = zip(listen, first["sockets"], strict=True)
    sockets = [(one, socket.socket(fileno=number)) for one, some in several for number in some]
    try:
        server = made(orders, origin, sockets, first["secret"], first["board"])
        await resume(server.keeper.lodge, first["trial"])
        await server.start()
    except Exception as problem:
        if not isinstance(problem, (HeadgateError, OSError, ValueError)):
            logger.exception("a worker cannot start")
        channel.send(failed=str(problem) or type(problem).__name__)
        await channel.close()
        return False
    # It is the same with all of them, and the one in the first slot tells of it.
    terms = orders.terms(server.keeper.rules)
    if first["slot"] == 0 and (short := shortage(terms.limits.connections)):
        logger.warning("%s", short)
    # What there is by now stays, and need not be looked through again and again.
    gc.collect()
    gc.freeze()
    channel.send(up=True)
    await Duty(server, channel, orders, origin).do()
    return True


def made(
    orders: Orders, origin: Standing, sockets: Sequence[tuple[Any, socket.socket]], secret: str,
    board: str,
) -> Any:  # fmt: skip
    """What serves; the one that does not is not loaded."""
    common: dict[str, Any] = {
        "store": orders.store, "sockets": sockets, "watch": orders.watch, "board": board,
    }  # fmt: skip
    if orders.serves == "service":
        from headgate.service.service import Service  # noqa: PLC0415 - as told

        return Service(origin, **common, secret=secret)
    from headgate.gateway.gateway import Gateway  # noqa: PLC0415 - as told

    return Gateway(origin, **common)


async def attempt(lodge: Lodge, trial: Any) -> dict[str, Any]:
    """Try a rule beside those in force, or none any more."""
    lodge.attempt(None if trial is None else Trial(trial["rule"], trial["since"]))
    return {}


async def resume(lodge: Lodge, trial: Any) -> None:
    """Try what others try already; who cannot serves without: it is nothing that has to be."""
    try:
        await attempt(lodge, trial)
    except Exception as problem:
        logger.error("the rule on trial is not tried here: %s", problem)  # noqa: TRY400 - no trace


# What a worker does about a rule, for its master.
FAVOURS: dict[str, Callable[..., Any]] = {"peek": stand, "reset": lift, "trial": attempt}


def teller(channel: Channel) -> Callable[[Text], object]:
    """What tells the master of other rules, from any thread."""
    loop = asyncio.get_running_loop()

    def tell(text: Text) -> None:
        said = rulebook.spelled(text)
        loop.call_soon_threadsafe(lambda: channel.send(text=said))

    return tell


class Duty:
    """What a worker does for its master."""

    def __init__(self, server: Any, channel: Channel, orders: Orders, origin: Standing) -> None:
        self._server = server
        self._channel = channel
        self._orders = orders
        self._origin = origin
        self._end = asyncio.Event()
        # Rules are read one after another: what was read last is what was written last.
        self._reading = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def do(self) -> None:
        """Obey until the end."""
        self._begin(self._obey())
        await self._end.wait()
        for task in self._tasks:
            task.cancel()
        await self._server.close()
        await self._channel.close()

    async def _obey(self) -> None:
        # What takes time is done beside it, so that a later order can cut it short.
        while said := await self._channel.receive():
            order = said["order"]
            if order == "greet":
                self._channel.send(id=said["id"], answer={})
            elif order in ("status", "reading"):
                self._begin(self._tell(said["id"], order))
            elif order in FAVOURS:
                self._begin(self._oblige(said))
            elif order == "reload":
                self._begin(self._reload(said["id"], rulebook.heard(said["text"])))
            elif order == "reopen":
                self._server.reopen()
            elif order == "drain":
                self._begin(self._drain(said["grace"]))
            else:
                self._end.set()
        # Nobody is there any more to say what to do.
        await self._drain(self._orders.grace(self._server.keeper.rules))

    async def _tell(self, number: int, order: str) -> None:
        server = self._server
        try:
            answer = server.status() if order == "status" else server.reading()
        except Exception:
            # Without an answer it would be taken for one that hangs.
            logger.exception("it cannot be said how it is")
            answer = {}
        self._channel.send(id=number, answer=answer)

    async def _reload(self, number: int, text: Text) -> None:
        keeper = self._server.keeper
        problem = ""
        try:
            async with self._reading:
                draft = self._origin.origin.amend(text)
                rules = await asyncio.to_thread(draft.rules)
                if rules != keeper.rules:
                    self._server.change(rules)
                else:
                    self._server.renew()
                self._origin.keep(draft)
        except Exception as caught:
            problem = str(caught) or type(caught).__name__
        self._channel.send(id=number, answer={"version": keeper.version, "problem": problem})
        if keeper.watcher is not None and not problem:
            # It may have found newer ones before these were brought, and would not look twice.
            await asyncio.to_thread(keeper.watcher.reload)

    async def _oblige(self, said: dict[str, Any]) -> None:
        try:
            answer = await FAVOURS[said["order"]](self._server.keeper.lodge, **said["terms"])
        except HeadgateError as problem:
            answer = {"problem": str(problem)}
        except Exception as problem:
            logger.exception("%s was not done", said["order"])
            answer = {"problem": str(problem) or type(problem).__name__}
        self._channel.send(id=said["id"], answer=answer)

    async def _drain(self, grace: float) -> None:
        try:
            await self._server.drain(grace)
        except Exception:
            logger.exception("what is under way is not finished")
        self._end.set()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


if __name__ == "__main__":
    main()
