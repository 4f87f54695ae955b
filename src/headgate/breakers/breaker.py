"""Breaker: whether at all. Stops calling what fails, and finds out when it works again.

A breaker looks at what came of the latest calls. Where too many failed, timed out or were slow, it
lets none in for a while and says so at once, in a microsecond instead of a timeout: the caller can
do without, and the one who is called can recover.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.breakers.circuit import STATES, Circuit, Settings, dispensable
from headgate.breakers.judge import IGNORED, Judge, Kinds
from headgate.clock import Clock, SystemClock
from headgate.errors import BreakerOpen
from headgate.fork import follow
from headgate.measures import FOREVER, number, seconds, share, whole
from headgate.window import FAILURE, SUCCESS, Totals
from headgate.wrapper import keyed, refuse, through

P = ParamSpec("P")
R = TypeVar("R")
Listener = Callable[[str, str, str], object]

logger = logging.getLogger("headgate")

# The most buckets, or last calls, a window may have.
MOST = 100_000
# The most keys with a circuit of their own.
KEYS = 10_000
FORCED = {"open": "forced_open", "closed": "forced_closed", "metrics_only": "metrics_only"}
# Outcomes and a time, as C numbers when compiled.
GOOD, BAD, NOTHING, NEVER = SUCCESS, FAILURE, IGNORED, FOREVER


class Breaker:
    """Lets calls in until too many of the latest went wrong; then none, until a probe goes well.

    It opens when `failures` of the calls of the last `window` seconds failed (or that share or
    more), or `slow` of them took `slow_after` seconds or longer, once there were `calls` of them.
    With `last=100` it looks at the last 100 calls instead, however long ago they were. Open, it
    lets nothing in for `pause` seconds, then `probes` calls: their outcome closes it, or opens it
    for `growth` times as long, up to `longest`. Every pause is longer or shorter by up to the
    share `jitter`, so that a fleet does not come back as one.

    An exception of `counts` is a failure, unless it is one of `ignores`; so is a result for which
    `wrong(result)` is true. A cancelled call counts as none. Every key has a circuit of its own.
    """

    def __init__(
        self,
        failures: float = 0.5,
        calls: int = 20,
        *,
        window: float = 10.0,
        buckets: int = 10,
        last: int = 0,
        slow: float = 1.0,
        slow_after: float = inf,
        pause: float = 5.0,
        longest: float = 60.0,
        growth: float = 2.0,
        jitter: float = 0.1,
        probes: int = 1,
        counts: Kinds = Exception,
        ignores: Kinds = (),
        wrong: Callable[[Any], bool] | None = None,
        name: str = "",
        clock: Clock | None = None,
    ) -> None:
        told = "Breaker"
        minimum = whole(told, "calls", calls, 1)
        if last and last < minimum:
            raise ValueError(f"Breaker: of the last {last} calls there are never {calls}")
        cut = whole(told, "buckets", buckets, 1, MOST)
        width = -(-seconds(told, "window", window, 0.001) // cut)
        first = seconds(told, "pause", pause, 0.001)
        self.settings = Settings(
            failed=share(told, "failures", failures),
            slow=share(told, "slow", slow),
            slow_after=seconds(told, "slow_after", slow_after),
            calls=minimum,
            span=whole(told, "last", last, 0, MOST) or width * cut,
            buckets=last or cut,
            counted=last > 0,
            pause=first,
            longest=max(first, seconds(told, "longest", longest, 0.001)),
            growth=number(told, "growth", growth, 1.0),
            jitter=number(told, "jitter", jitter, 0.0, 1.0),
            probes=whole(told, "probes", probes, 1),
        )
        self.judge = Judge(counts, ignores)
        self.wrong = wrong
        self.name = name
        self.clock = SystemClock() if clock is None else clock
        self.system = self.clock if isinstance(self.clock, SystemClock) else None
        self.luck = random.Random()  # noqa: S311 - spreads, keeps no secret
        self.listeners: tuple[Listener, ...] = ()
        self.main = Circuit(self.settings, self.luck)
        self.circuits = {"": self.main}
        follow(self, renew)

    def hold(self, key: str = "") -> Call:
        """One call, as a context manager for `with` or `async with`; raises `BreakerOpen`.

        An exception that leaves the block is the call's outcome; without one, it went well, unless
        `fail` or `ignore` was called.
        """
        return self.call(self.circuit(key))

    def guard(
        self, key: str | Callable[..., str] = ""
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def` or an `async def`: each call goes through the breaker.

        `key` is a template over the arguments, such as `"host:{host}"`, or a function of them.
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            refuse("Breaker", function)
            door = Door(self, self.main if key == "" else None, keyed(function, key))
            return through(function, door.enter)

        return decorate

    def state(self, key: str = "") -> str:
        """`closed`, `open`, `half_open`, or what it was forced into."""
        circuit = self.circuits.get(key)
        return "closed" if circuit is None else STATES[circuit.state]

    def totals(self, key: str = "") -> Totals:
        """What came of the latest calls."""
        circuit = self.circuits.get(key)
        return Totals() if circuit is None else circuit.totals(self.time())

    def force(self, state: str, key: str = "") -> None:
        """Stay `"open"`, `"closed"` or `"metrics_only"`, whatever comes, until `reset`.

        Metrics only: every call goes in and is counted, and the breaker never opens.
        """
        if state not in FORCED:
            raise ValueError(f'force: a state is "open", "closed" or "metrics_only", not {state!r}')
        self._turn(key, FORCED[state])

    def reset(self, key: str = "") -> None:
        """Be closed, and forget what came of the calls before."""
        self._turn(key, "closed")

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(key, before, after)` at each change of state; what it raises is logged."""
        self.listeners = (*self.listeners, listener)
        return listener

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        return f"<Breaker{named}: {self.state()}>"

    def circuit(self, key: str) -> Circuit:
        # The circuit of a key; those that are as new make room for others.
        found = self.circuits.get(key)
        if found is None:
            if not isinstance(key, str):
                raise TypeError(f"a key is a str, not {key!r}")
            if len(self.circuits) >= KEYS:
                self._sweep()
            found = self.circuits.setdefault(key, Circuit(self.settings, self.luck, key))
        return found

    def call(self, circuit: Circuit) -> Call:
        # As `Slot`, made without a constructor, to stay in C when compiled.
        call: Call = Call.__new__(Call)
        return call.prepare(self, circuit)

    def time(self) -> int:
        if self.system is not None:
            return self.system.read()
        return self.clock.now()

    def _turn(self, key: str, state: str) -> None:
        circuit = self.circuit(key)
        circuit.force(STATES.index(state))
        self.tell(circuit)

    def tell(self, circuit: Circuit) -> None:
        while circuit.story:
            try:
                before, after = circuit.story.popleft()
            except IndexError:
                return
            for listener in self.listeners:
                try:
                    listener(circuit.key, STATES[before], STATES[after])
                except Exception:
                    logger.exception("a listener failed; the call goes on")

    def _sweep(self) -> None:
        for key in dispensable(self.circuits, KEYS // 10, self.time()):
            self.circuits.pop(key, None)


class Door:
    """Where the calls of one function go in, each by its own key."""

    __slots__ = ("_breaker", "_circuit", "_name")

    def __init__(self, breaker: Breaker, circuit: Circuit | None, name: Callable[..., str]) -> None:
        self._breaker = breaker
        # None if it depends on the arguments.
        self._circuit = circuit
        self._name = name

    def enter(self, args: Any, kwargs: Any) -> Call:
        """A call with these arguments that has begun, or a false one."""
        circuit = self._circuit
        if circuit is None:
            circuit = self._breaker.circuit(self._name(*args, **kwargs))
        call = self._breaker.call(circuit)
        call.begin()
        return call


class Call:
    """One call through a breaker: `with breaker.hold() as call`. `fail` says that it went wrong."""

    __slots__ = ("_breaker", "_circuit", "_outcome", "_start", "_stop", "_ticket")

    def prepare(self, breaker: Breaker, circuit: Circuit) -> Call:
        """Be a call that goes by that circuit, and has not begun."""
        self._breaker = breaker
        self._circuit = circuit
        self._start = 0
        # -1 is not yet.
        self._stop = -1
        self._ticket = -1
        self._outcome = GOOD
        return self

    def fail(self) -> None:
        """Count it as a failure, though no exception says so."""
        self._outcome = BAD

    def ignore(self) -> None:
        """Count it as nothing: it says neither yes nor no about the one who was called."""
        self._outcome = NOTHING

    def start(self) -> None:
        """Count how long it takes from now on: it has only waited so far."""
        self._start = self._breaker.time()

    def stop(self) -> None:
        """Count how long it took up to now: what follows is somebody else's doing."""
        self._stop = self._breaker.time()

    def judge(self, result: Any) -> Any:
        """Count it as a failure if this result is one; answers the result."""
        wrong = self._breaker.wrong
        if wrong is not None and wrong(result):
            self.fail()
        return result

    def begin(self) -> None:
        """Go in, if one may."""
        self._start = self._breaker.time()
        self._ticket = self._circuit.enter(self._start)
        if self._circuit.story:
            self._breaker.tell(self._circuit)

    def end(self) -> None:
        """Count what came of it."""
        now = self._breaker.time()
        took = (now if self._stop < 0 else self._stop) - self._start
        self._circuit.leave(self._ticket, self._outcome, now, took)
        if self._circuit.story:
            self._breaker.tell(self._circuit)

    def raised(self, problem: BaseException) -> None:
        """It came to an end with this exception."""
        self._outcome = self._breaker.judge.outcome(problem)
        self.end()

    def refusal(self) -> BreakerOpen:
        """Why it did not begin."""
        wait = self._circuit.wait(self._start)
        return BreakerOpen(self._breaker.name, inf if wait >= NEVER else wait / 1e6)

    def __bool__(self) -> bool:
        return self._ticket >= 0

    def __enter__(self) -> Call:
        self.begin()
        if self._ticket < 0:
            raise self.refusal()
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is None:
            self.end()
        else:
            self.raised(problem)

    async def __aenter__(self) -> Call:
        return self.__enter__()

    async def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.__exit__(kind, problem, trace)


def renew(breaker: Breaker) -> None:
    """Let nobody hold a lock in a forked child."""
    for circuit in list(breaker.circuits.values()):
        circuit.renew()
