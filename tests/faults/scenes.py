"""What can go wrong with a server and on the way to it: scenes that begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Event, Thread
from typing import NamedTuple

from tests.faults.caller import BUDGET
from tests.servers.launch import Server
from tests.servers.process import launch
from tests.servers.proxy import Proxy
from tests.servers.resp import encode
from tests.servers.station import Station
from tests.servers.waiting import until
from tests.servers.wire import Login, Refusal

OWNER = Login("default", "open-sesame")
# What a scene is to the checks made in it: all are answered by the store, none is, or some are.
SERVED, FAILED, MIXED = "served", "failed", "mixed"
# Budget enough for whatever is slow but not broken.
AMPLE = 5.0


class Bench(NamedTuple):
    """A server that asks for a password, and a proxy before it."""

    server: Server
    proxy: Proxy | Station

    @property
    def url(self) -> str:
        return f"redis://:{OWNER.password}@127.0.0.1:{self.proxy.port}"


class Scene(NamedTuple):
    """What happens, what it is to the checks, and what a store that raises may call it.

    `quotas` says how many times over the server may let in its limit, because it forgot.
    """

    play: Callable[[Bench], AbstractContextManager[None]]
    outcome: str
    kinds: tuple[str, ...] = ()
    quotas: int = 1
    budget: float = BUDGET

    @property
    def title(self) -> str:
        return self.play.__name__


def proxied(name: str, verb: str, *said: float) -> Callable[[Bench], AbstractContextManager[None]]:
    """The scene that a verb of the proxy makes, until it heals."""

    @contextmanager
    def play(bench: Bench) -> Iterator[None]:
        getattr(bench.proxy, verb)(*said)
        yield
        bench.proxy.heal()

    play.__name__ = name
    return play


@contextmanager
def refused(bench: Bench) -> Iterator[None]:
    bench.proxy.refuse()
    bench.proxy.reset()
    yield
    bench.proxy.heal()


@contextmanager
def forgetful(bench: Bench) -> Iterator[None]:
    """The server forgets all scripts, again and again."""
    over = Event()

    def flush() -> None:
        with bench.server.wire() as wire:
            while not over.wait(0.001):
                wire.ask("SCRIPT", "FLUSH")

    thread = Thread(target=flush)
    thread.start()
    yield
    over.set()
    thread.join()


@contextmanager
def stopped(bench: Bench) -> Iterator[None]:
    bench.server.pause()
    yield
    bench.server.resume()


@contextmanager
def full(bench: Bench) -> Iterator[None]:
    """The server has no memory left and evicts nothing."""
    bench.server.ask("CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", "noeviction")
    yield
    bench.server.ask("CONFIG", "SET", "maxmemory", "0")


@contextmanager
def readonly(bench: Bench) -> Iterator[None]:
    """The server is the replica of nobody who lives."""
    bench.server.ask("REPLICAOF", "127.0.0.1", "1")
    yield
    bench.server.ask("REPLICAOF", "NO", "ONE")


@contextmanager
def loading(bench: Bench) -> Iterator[None]:
    """The server begins again, with much to read."""
    server, options = bench.server, bench.server.options
    server.ask("CONFIG", "SET", "rdbcompression", "no")
    server.ask("EVAL", "for i = 1, 999 do redis.call('SET', i, ('x'):rep(2000)) end", 0)
    server.ask("SAVE")
    server.kill()
    # It answers after every key, and a key takes it five milliseconds.
    delay = ("--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")
    server.options = (*options, *delay)
    server.spawn()
    until(lambda: said(server, "GET", "x").startswith("LOADING"), "the server to load")
    yield
    server.options = options
    (server.folder / "dump.rdb").unlink()
    server.kill()
    launch(server)


@contextmanager
def busy(bench: Bench) -> Iterator[None]:
    """The server runs somebody's script that does not end."""
    bench.server.ask("CONFIG", "SET", "busy-reply-threshold", "1")
    with bench.server.wire() as wire:
        wire.send(encode("EVAL", "while true do end", 0))
        until(lambda: said(bench.server, "GET", "x").startswith("BUSY"), "the server to be busy")
        yield
        bench.server.ask("SCRIPT", "KILL")
        wire.read()


@contextmanager
def paused(bench: Bench) -> Iterator[None]:
    bench.server.ask("CLIENT", "PAUSE", 600_000, "WRITE")
    yield
    bench.server.ask("CLIENT", "UNPAUSE")


@contextmanager
def locked(bench: Bench) -> Iterator[None]:
    """The password is another, and all who came by the old one are thrown out."""
    with bench.server.wire() as wire:
        wire.ask("CONFIG", "SET", "requirepass", "another")
        wire.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        until(lambda: bench.proxy.open == 0, "everybody to be out")
        yield
        wire.ask("CONFIG", "SET", "requirepass", OWNER.password)


@contextmanager
def forbidden(bench: Bench) -> Iterator[None]:
    """The user may not call scripts by their names."""
    bench.server.ask("ACL", "SETUSER", "default", "-evalsha")
    yield
    bench.server.ask("ACL", "SETUSER", "default", "+evalsha")


@contextmanager
def planted(bench: Bench) -> Iterator[None]:
    """Somebody else's lists stand where our records were, and stay for ever."""
    with bench.server.wire() as wire:
        for key in wire.ask("KEYS", "headgate*"):
            wire.ask("DEL", key)
            wire.ask("RPUSH", key, "what", "is", "this")
    yield


@contextmanager
def restarted(bench: Bench) -> Iterator[None]:
    """The server has begun again, with nothing in memory."""
    bench.server.restart()
    until(lambda: bench.proxy.open == 0, "the old connections to be over")
    yield


@contextmanager
def replaced(bench: Bench) -> Iterator[None]:
    """The server is killed, and after a while there is another in its place."""
    bench.server.kill()
    until(lambda: bench.proxy.open == 0, "the old connections to be over")
    yield
    launch(bench.server)


def said(server: Server, *command: str | int) -> str:
    """What the server says to a command, be it a refusal."""
    with suppress(OSError):
        try:
            return str(server.ask(*command))
        except Refusal as refusal:
            return str(refusal)
    return ""


TIMEOUT, CONNECTION = ("timeout",), ("connection",)
ANY = ("any",)
SCENES = (
    Scene(proxied("late_by_5_ms", "latency", 0.005), SERVED, budget=AMPLE),
    Scene(proxied("late_by_50_ms", "latency", 0.05), MIXED, TIMEOUT),
    Scene(proxied("late_by_500_ms", "latency", 0.5), FAILED, TIMEOUT),
    Scene(proxied("blackhole", "blackhole"), FAILED, TIMEOUT),
    Scene(proxied("reset_within_the_reply", "cut", 20), FAILED, CONNECTION),
    Scene(proxied("byte_by_byte", "slices", 1, 0.0), SERVED, budget=AMPLE),
    Scene(proxied("duplicated", "duplicate"), MIXED, ANY),
    Scene(proxied("swapped", "swap"), MIXED, ANY),
    Scene(proxied("corrupt", "corrupt"), MIXED, ANY, quotas=2),
    Scene(proxied("rejected", "reject"), FAILED, CONNECTION),
    Scene(refused, FAILED, CONNECTION),
    Scene(forgetful, SERVED, budget=AMPLE),
    Scene(stopped, FAILED, TIMEOUT),
    # What a server says is waited for: it may be late on a machine that has other things to do.
    Scene(full, FAILED, ("oom",), budget=AMPLE),
    Scene(readonly, FAILED, ("readonly",), budget=AMPLE),
    Scene(loading, FAILED, ("loading",), quotas=2),
    Scene(busy, FAILED, ("busy",), budget=AMPLE),
    Scene(paused, FAILED, TIMEOUT),
    Scene(locked, FAILED, ("wrongpass", "connection")),
    Scene(forbidden, FAILED, ("noperm",), budget=AMPLE),
    Scene(planted, SERVED, quotas=2, budget=AMPLE),
    Scene(restarted, SERVED, quotas=2, budget=AMPLE),
    Scene(replaced, FAILED, CONNECTION, quotas=2),
)
