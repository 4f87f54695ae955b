"""Pipes on a wheel: what is written arrives, whole and in order, however little room there is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest

from headgate.wire.ear import Bytes, Ear
from headgate.wire.pipe import Pipe
from headgate.wire.wheel import Wheel

MUCH = bytes(range(256)) * 4096
TURNS = 2000


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test in a loop of its own."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    return run


class Listening(Ear):
    """Keeps what it hears; `fails` says at what it breaks."""

    def __init__(self, fails: str = "") -> None:
        self.heard = b""
        self.told: list[str] = []
        self.went = 0
        self.problem: Exception | None = None
        self.fails = fails

    def connection_made(self, transport: Any) -> None:
        self.pipe = transport

    def data_received(self, data: Bytes) -> None:
        if self.fails == "data":
            raise KeyError("broken")
        self.heard += bytes(data)

    def passed(self, size: int) -> None:
        self.went += size

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def eof_received(self) -> bool:
        self.told.append("end")
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self.told.append("lost")
        self.problem = problem


class Ends:
    """A pipe's protocol, and the socket at its other end."""

    def __init__(self, wheel: Wheel, ear: Listening, room: int = 0) -> None:
        mine, self.other = socket.socketpair()
        for line in (mine, self.other):
            line.setblocking(False)
            if room:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room)
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.ear = ear
        self.pipe = Pipe(wheel, mine, ear)
        self.arrived = b""
        self.over = False

    def drain(self) -> None:
        """Take in at the other end what is there."""
        try:
            while not self.over:
                data = self.other.recv(1 << 16)
                self.arrived += data
                self.over = not data
        except BlockingIOError:
            pass
        except ConnectionError:
            self.over = True


@asynccontextmanager
async def wheel() -> AsyncIterator[Callable[..., Ends]]:
    """Makes pipes; all are closed in the end."""
    made: list[Ends] = []
    turning = Wheel(asyncio.get_running_loop())

    def make(ear: Listening | None = None, room: int = 0) -> Ends:
        made.append(Ends(turning, ear or Listening(), room))
        return made[-1]

    try:
        yield make
    finally:
        turning.close()
        turning.close()
        await asyncio.sleep(0)
        for one in made:
            one.other.close()
            assert one.ear.told.count("lost") == 1


async def until(condition: Callable[[], object], *others: Ends) -> None:
    """Let the loop turn until something holds; the other ends of some take in what comes."""
    for _ in range(TURNS):
        if condition():
            return
        await asyncio.sleep(0)
        for one in others:
            one.drain()
    raise AssertionError("it does not come to that")


@awaited
async def test_what_is_said_in_one_breath_goes_in_one_piece() -> None:
    async with wheel() as make:
        ends = make()
        ends.pipe.write(b"one ")
        ends.pipe.write(b"two")
        with pytest.raises(BlockingIOError):
            ends.other.recv(10)
        await asyncio.sleep(0)

        assert ends.other.recv(10) == b"one two"


@awaited
async def test_what_is_borrowed_is_sent_at_once_or_kept() -> None:
    async with wheel() as make:
        ends = make(room=4096)
        lent = bytearray(MUCH)
        ends.pipe.write(b"first ")
        ends.pipe.writelines([b"then ", memoryview(lent)])
        lent[:] = bytes(len(lent))
        ends.pipe.write(memoryview(b"last"))
        wanted = b"first then " + MUCH + b"last"
        await until(lambda: len(ends.arrived) == len(wanted), ends)

        assert ends.arrived == wanted
        assert ends.pipe.get_write_buffer_size() == 0


@awaited
async def test_many_parts_arrive_in_order() -> None:
    async with wheel() as make:
        ends = make(room=4096)
        parts = [b"%d " % number for number in range(5000)]
        for part in parts:
            ends.pipe.write(part)
        await until(lambda: ends.arrived == b"".join(parts), ends)


@awaited
async def test_who_writes_too_much_is_told_to_wait() -> None:
    async with wheel() as make:
        ends = make(room=4096)
        ends.pipe.set_write_buffer_limits(100_000)
        ends.pipe.write(MUCH[:90_000])
        await asyncio.sleep(0)
        assert ends.ear.told == []
        ends.pipe.write(MUCH)
        await until(lambda: ends.ear.told == ["pause"])
        assert ends.pipe.get_write_buffer_size() > 100_000
        await until(lambda: ends.ear.told == ["pause", "resume"], ends)
        assert 0 < ends.pipe.get_write_buffer_size() <= 25_000
        await until(lambda: ends.pipe.get_write_buffer_size() == 0, ends)


@awaited
async def test_who_pauses_reads_nothing_until_it_resumes() -> None:
    async with wheel() as make:
        ends = make()
        ends.pipe.pause_reading()
        ends.other.send(b"early")
        for _ in range(20):
            await asyncio.sleep(0)
        assert ends.ear.heard == b""
        ends.pipe.resume_reading()
        await until(lambda: ends.ear.heard == b"early")


@awaited
async def test_the_end_comes_after_all_that_was_said() -> None:
    async with wheel() as make:
        ends = make(room=4096)
        ends.pipe.write(MUCH)
        ends.pipe.close()
        ends.pipe.write(b"too late")
        ends.other.send(b"not read any more")
        await until(lambda: ends.over and "lost" in ends.ear.told, ends)

        assert ends.arrived == MUCH
        assert ends.ear.heard == b""
        assert ends.ear.problem is None


@awaited
async def test_half_an_end_leaves_the_other_half() -> None:
    async with wheel() as make:
        ends = make(room=4096)
        ends.pipe.write(MUCH)
        ends.pipe.write_eof()
        await until(lambda: ends.over, ends)
        ends.other.send(b"still here")
        await until(lambda: ends.ear.heard == b"still here")

        assert ends.arrived == MUCH
        assert "lost" not in ends.ear.told


@awaited
async def test_who_hangs_up_is_noticed() -> None:
    async with wheel() as make:
        ends = make()
        ends.other.send(b"bye")
        ends.other.shutdown(socket.SHUT_WR)
        await until(lambda: "lost" in ends.ear.told)

        assert ends.ear.heard == b"bye"
        assert ends.ear.told == ["end", "lost"]
        assert ends.pipe.get_extra_info("socket").fileno() < 0


@awaited
async def test_writing_to_who_is_gone_ends_it() -> None:
    async with wheel() as make:
        ends = make()
        ends.pipe.pause_reading()
        ends.other.close()
        ends.pipe.write(b"anybody?")
        await until(lambda: "lost" in ends.ear.told)

        assert isinstance(ends.ear.problem, BrokenPipeError)


@awaited
async def test_who_breaks_while_it_hears_takes_nobody_along() -> None:
    loop = asyncio.get_running_loop()
    said: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: said.append(context))
    async with wheel() as make:
        broken, sound = make(Listening("data")), make()
        for one in (broken, sound):
            one.other.send(b"hello")
        await until(lambda: "lost" in broken.ear.told and sound.ear.heard == b"hello")

    assert [type(one["exception"]) for one in said] == [KeyError]


@pytest.mark.parametrize("room", [0, 4096])
@pytest.mark.parametrize("size", [1, 40_000, len(MUCH)])
@awaited
async def test_what_is_siphoned_arrives_after_what_was_said(room: int, size: int) -> None:
    async with wheel() as make:
        source, sink = make(), make(room=room)
        sink.pipe.write(b"head ")
        lead(source, sink, size)
        rest = MUCH[:size] + b"next"
        while rest:
            try:
                rest = rest[source.other.send(rest) :]
            except BlockingIOError:
                await asyncio.sleep(0)
                sink.drain()
        await until(lambda: len(sink.arrived) == 5 + size and source.ear.heard == b"next", sink)

        assert sink.arrived == b"head " + MUCH[:size]
        assert source.ear.went == size


@awaited
async def test_a_siphon_to_who_is_gone_leaves_nothing_behind_for_others() -> None:
    async with wheel() as make:
        source, sink, other, third = make(), make(room=4096), make(), make()
        lead(source, sink, len(MUCH))
        source.other.send(MUCH[:60_000])
        sink.other.close()
        await until(lambda: "lost" in sink.ear.told)
        lead(other, third, 5)
        other.other.send(b"clean")
        await until(lambda: third.arrived == b"clean", third)


def lead(source: Ends, sink: Ends, size: int) -> None:
    """Have bytes passed on from one to another, as who reads an answer does."""
    source.pipe.siphon(sink.pipe, size)
