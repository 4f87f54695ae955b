"""HAProxy's half of a conversation, and a hall for the agent's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from types import SimpleNamespace
from typing import Any

from headgate import ManualClock
from headgate.rules import Rules
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.service import Service
from headgate.service.callers import Callers
from headgate.service.hall import Hall
from headgate.service.spop import frames
from headgate.service.spop.agent import Agent
from headgate.service.spop.frames import Tape, Terms, Value, typed, word
from headgate.service.teller import Teller
from headgate.wire.house import House

SECOND = 1_000_000
# Those of tests which have none themselves, until they are over.
LOOPS: list[asyncio.AbstractEventLoop] = []
# As HAProxy 2.6 sends it, byte by byte.
GREETING = bytes.fromhex(
    "000000810100000001000012737570706f727465642d76657273696f6e730803322e300e6d61782d6672616d652d"
    "73697a6503fcf0060c6361706162696c69746965730810706970656c696e696e672c6173796e6309656e67696e65"
    "2d6964082430393930393034352d646462362d343137622d383264632d303165333530666365396631"
)
WELCOME = frames.hello(16380)
RULES = """\
version: 1
rules:
  - {name: api, match: {path: /api/**}, key: client.ip, limit: 3/min, by: fixed_window}
  - {name: users, match: {path: /users}, key: user, limit: 2/min, by: fixed_window}
  - {name: keys, match: {path: /keys}, key: header.x-key, limit: 1/min, by: fixed_window}
  - name: slow
    match: {path: /slow}
    limit: 1/s
    by: gcra
    over: {wait: 10s}
  - {name: banned, match: {path: /banned}, deny: {}}
  - {name: mail, match: {path: /nowhere}, key: user, limit: 10/min, by: fixed_window}
"""


class Line:
    """A transport that keeps what is written, and tells the time of nothing."""

    def __init__(self, ends: bool = True) -> None:
        self.written: list[bytes] = []
        self.told: list[str] = []
        self._ends = ends

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def can_write_eof(self) -> bool:
        return self._ends

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def get_extra_info(self, name: str) -> None:
        return None

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name not in {"pause_reading", "resume_reading", "write_eof", "close", "abort"}:
            raise AttributeError(name)
        return lambda: self.told.append(name)

    @property
    def over(self) -> bool:
        """Whether it was hung up."""
        return not {"write_eof", "close", "abort"}.isdisjoint(self.told)

    def take(self) -> bytes:
        """What was written since this was last asked."""
        said = b"".join(self.written)
        self.written.clear()
        return said


class Talk:
    """HAProxy and an agent, with nothing between them that takes time."""

    def __init__(self, hall: Hall, caller: str = "", ends: bool = True) -> None:
        self.hall = hall
        self.agent = Agent(hall, SimpleNamespace(caller=caller), "192.0.2.1")
        self.line = Line(ends)
        self.agent.connection_made(self.line)

    def say(self, *said: bytes) -> list[Any]:
        """What comes of what HAProxy says."""
        self.agent.data_received(b"".join(said))
        return self.heard()

    def heard(self) -> list[Any]:
        """What the agent has said since this was last asked."""
        return heard(self.line.take())

    def greet(self) -> Talk:
        """A conversation that has begun."""
        assert self.say(GREETING) == heard(WELCOME)
        return self

    def ask(self, **args: Any) -> Any:
        """The variables with which one message is answered."""
        return self.answer(notify(message(**args)))

    def answer(self, question: bytes) -> Any:
        """The variables with which a question is answered, however long it takes."""
        found = self.say(question)
        if not found:
            self.hall.loop.run_until_complete(turns())
            found = self.heard()
        [(kind, mark, said)] = found
        assert (kind, mark) == (frames.ACK, b"\7\1")
        return said


def hall(text: str = RULES, clock: ManualClock | None = None) -> Hall:
    """A hall where these rules are in force."""
    rules = Rules.read(text)
    clock = clock or ManualClock()
    keeper = AsyncGatekeeper(rules, clock=clock)
    house = House()
    house.until_head, house.until_idle, house.until_sent = 10 * SECOND, 600 * SECOND, 60 * SECOND
    found = Hall(keeper, Teller(keeper, ""), Callers(told(rules).callers, clock), house)
    try:
        found.loop = asyncio.get_running_loop()
    except RuntimeError:
        found.loop = asyncio.new_event_loop()
        LOOPS.append(found.loop)
    return found


def told(rules: Rules) -> Service:
    """What rules say of a service."""
    return rules.service or Service()


def message(named: str = "check", **args: Any) -> bytes:
    """A message with these arguments; an underscore is a dot, or a hyphen after one."""
    said = [word(spelled(name)) + value(given) for name, given in args.items()]
    return word(named.encode()) + bytes([len(args)]) + b"".join(said)


def spelled(name: str) -> bytes:
    first, dot, rest = name.partition("_")
    return (first + ("." if dot else "") + rest.replace("_", "-")).encode()


def value(given: Value) -> bytes:
    """A value as HAProxy types it; a source is an address."""
    if isinstance(given, bool):
        return typed(frames.BOOL, given)
    if isinstance(given, int):
        return typed(frames.INT64, given)
    if isinstance(given, bytes):
        return typed(frames.BINARY, given)
    if given is None:
        return typed(frames.NULL, None)
    if given.count(".") == 3 and given.replace(".", "").isdigit():
        return typed(frames.IPV4, given)
    return typed(frames.IPV6 if "::" in given else frames.STRING, given)


def notify(*messages: bytes, mark: bytes = b"\7\1") -> bytes:
    """A question with these messages."""
    return frames.frame(frames.NOTIFY, mark, b"".join(messages))


def greeting(**told: Value) -> bytes:
    """A greeting that says nothing but this."""
    said = [word(name.replace("_", "-").encode()) + value(one) for name, one in told.items()]
    return frames.frame(frames.PROXY_HELLO, frames.UNMARKED, b"".join(said))


def parting(status: int = 0, said: str = "normal") -> bytes:
    """HAProxy's farewell."""
    told = {b"status-code": typed(frames.UINT32, status), b"message": typed(frames.STRING, said)}
    return frames.frame(frames.PROXY_DISCONNECT, frames.UNMARKED, frames.listed(told))


def bye(status: int, said: str) -> tuple[int, bytes, Terms]:
    """An agent's farewell, as it is heard."""
    told: Terms = {"status-code": status, "message": said}
    return frames.AGENT_DISCONNECT, frames.UNMARKED, told


def heard(data: bytes) -> list[Any]:
    """The frames of an agent, each with its kind, its mark, and its terms or variables."""
    found = []
    at = 0
    while at < len(data):
        end = frames.reach(data, at, 1 << 20)
        assert end <= len(data)
        tape = Tape(data, at + 4, end)
        kind, mark = frames.head(tape)
        found.append((kind, mark, variables(tape) if kind == frames.ACK else frames.terms(tape)))
        at = end
    return found


def variables(tape: Tape) -> Terms:
    """What an answer sets; None is what it leaves without a value."""
    found: Terms = {}
    while tape.at < tape.end:
        action, count, scope = tape.byte(), tape.byte(), tape.byte()
        assert (action, count) in {(1, 3), (2, 2)}
        assert scope == 2
        name = tape.word().decode()
        assert name not in found
        found[name] = tape.value() if action == 1 else None
    return found


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test in a loop of its own, which complains of what nobody caught."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(watched(test(**given)))

    return run


async def watched(test: Coroutine[Any, Any, None]) -> None:
    troubles: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: troubles.append(said))
    await test
    for _ in range(3):
        await asyncio.sleep(0)
    assert troubles == []


async def turns(count: int = 20) -> None:
    """Let everybody do what can be done now."""
    for _ in range(count):
        await asyncio.sleep(0)
