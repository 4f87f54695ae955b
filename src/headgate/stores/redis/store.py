"""RedisStore: state on Redis or Valkey, for a fleet.

It knows the same servers, speaks the same scripts and gives the same answers as `AsyncRedisStore`;
they differ in how they wait. Neither decides what happens without a server: they raise
`StoreUnavailable` within their budget of time, and `fallback.py` makes the best of it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from headgate.algorithms.limit import Limit
from headgate.clock import Clock, SystemClock, microseconds
from headgate.drive import drive
from headgate.errors import StoreUnavailable
from headgate.stores.fallback import MODES, Fallback
from headgate.stores.redis.fleet import Find, Fleet, Send, asked, found, told
from headgate.stores.redis.ledger import RedisLedger, Tongue
from headgate.stores.redis.place import Place, Route, adopted, route
from headgate.stores.redis.pulse import Pulse
from headgate.stores.redis.switchboard import Switchboard
from headgate.stores.redis.wire import (
    STRANGE,
    Question,
    Refusal,
    Unsent,
    command,
    foreign,
    late,
    reader,
)
from headgate.stores.watch import Watch

# Seconds that a check may take, whatever it meets on the way.
BUDGET = 0.05

L = TypeVar("L")


class RedisStore:
    """Keeps state on Redis or Valkey, so that a whole fleet shares each limit.

    `server` is a URL (`redis://`, `rediss://`, `unix://`, `redis+cluster://`, `redis+sentinel://`,
    or the same with `valkey`) or a redis-py client to take the way from. A call takes `budget`
    seconds at most, or as many as the URL says with `?budget=0.2`, and `lines` connections are held
    to each server at most.
    """

    awaited = False

    def __init__(self, server: Any, budget: float = BUDGET, lines: int = 64) -> None:
        self.route = way(server)
        self.budget = within(self.route.budget or budget)
        self.fleet = Fleet(self.route)
        self.watch = Watch(shown(self.route))
        self._span = microseconds(self.budget)
        self._clock = SystemClock()
        self._board = Switchboard(self._clock, self.budget, whole(lines))
        self._pulse = Pulse()
        reader()

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "raise",
    ) -> RedisLedger | Fallback:  # fmt: skip
        """The ledger of `limits` under `name`; without a name, the limits are its name."""
        ledger = RedisLedger(Tongue(limits, name, given(clock)), self._carry, self._forget)
        return backed(ledger, self, when_unavailable)

    def clock(self) -> Clock:
        """The clock that limiters wait by; decisions go by the server's."""
        return SystemClock()

    def beat(self) -> int:
        """Give a sign of life; answers how many processes have given one lately."""
        return self._carry(self._pulse, self._pulse.read, self._pulse.sign)  # type: ignore[no-any-return]

    def put(self, question: Question | list[Question], read: Any) -> Any:
        """What `read` makes of the reply to a question; of each, in one journey, if there are many.

        It may raise `StoreUnavailable` as every call does.
        """
        return self._carry(self._pulse, read, lambda asked: asked, question)

    def close(self) -> None:
        """Hang up; the next call dials again."""
        self._board.close()

    def _carry(
        self, tongue: Tongue | Pulse, read: Any, phrase: Any, key: Any = None, *said: Any
    ) -> Any:
        deadline = self._clock.now() + self._span
        if isinstance(key, list):
            replies = self._many([phrase(one, *said) for one in key], deadline)
            # Only what came to nothing because a page has turned is asked again.
            return [
                self._carry(tongue, read, phrase, one, *said)
                if self._read(tongue.turned, reply)
                else self._read(read, reply)
                for one, reply in zip(key, replies, strict=True)
            ]
        reply = self._ask(phrase(key, *said), deadline)
        while tongue.calendars and self._read(tongue.turned, reply):
            reply = self._ask(phrase(key, *said), deadline)
        return self._read(read, reply)

    def _read(self, read: Any, reply: bytes) -> Any:
        try:
            return read(reply)
        except STRANGE:
            raise foreign(shown(self.route)) from None

    def _ask(self, question: Question, deadline: int) -> Any:
        place = self.fleet.place(question.slot)
        refusal = None
        if place is not None:
            try:
                reply = self._board.ask(place, question, False, False, deadline)
            except StoreUnavailable as problem:
                self.fleet.doubt(place)
                if self.route.kind == "single" or not isinstance(problem, Unsent):
                    raise
                place = None
            else:
                if type(reply) is bytes:
                    return reply
                refusal = reply
        return self._mend(question, place, refusal, deadline)

    def _many(self, questions: list[Question], deadline: int) -> list[Any]:
        # One journey to each server; what it refuses goes on from there, what it answered stays.
        replies: list[Any] = [None] * len(questions)
        routes: dict[Place | None, list[int]] = {}
        for number, question in enumerate(questions):
            routes.setdefault(self.fleet.place(question.slot), []).append(number)
        for place, numbers in routes.items():
            found = self._together(place, [questions[number] for number in numbers], deadline)
            for number, reply in zip(numbers, found, strict=True):
                replies[number] = reply
            refused = [number for number in numbers if isinstance(replies[number], Refusal)]
            if refused:
                # The first one teaches the server the script, or us where to go.
                first, *rest = refused
                try:
                    replies[first] = self._mend(questions[first], place, replies[first], deadline)
                    for number, reply in zip(
                        rest, self._many([questions[n] for n in rest], deadline), strict=True
                    ):
                        replies[number] = reply
                except StoreUnavailable as problem:
                    # Those that were answered have been counted.
                    problem.unknown = problem.unknown or len(refused) < len(questions)
                    raise
        return replies

    def _together(self, place: Place | None, questions: list[Question], deadline: int) -> list[Any]:
        if place is not None:
            try:
                return self._board.ask_many(place, questions, deadline)
            except StoreUnavailable as problem:
                self.fleet.doubt(place)
                if self.route.kind == "single" or not isinstance(problem, Unsent):
                    raise
        return [self._ask(question, deadline) for question in questions]

    def _mend(
        self, question: Question, place: Place | None, refusal: Refusal | None, deadline: int
    ) -> Any:
        flow = asked(self.fleet, question, place, refusal)
        return drive(flow, lambda effect: self._perform(effect, deadline))

    def _perform(self, effect: Any, deadline: int) -> Any:
        if isinstance(effect, Send):
            return self._board.ask(*effect, deadline)
        if isinstance(effect, Find):
            return self._find(deadline)
        return self._board.tell(effect.place, effect.payload, 1, deadline)[0]

    def _find(self, deadline: int) -> None:
        left = max(0, deadline - self._clock.now()) / 1e6
        if not self._board.finding.acquire(timeout=left):
            raise late(shown(self.route), self.budget)
        try:
            drive(found(self.fleet), lambda tell: self._perform(tell, deadline))
        finally:
            self._board.finding.release()

    def _forget(self, key: bytes) -> None:
        self._tell(key, command("UNLINK", key))

    def _tell(self, key: bytes, payload: bytes) -> Any:
        deadline = self._clock.now() + self._span
        return drive(told(self.fleet, key, payload), lambda effect: self._perform(effect, deadline))

    def __repr__(self) -> str:
        return f"RedisStore({shown(self.route)!r})"


def backed(ledger: L, store: Any, mode: str) -> L | Fallback:
    """The ledger with something to fall back on, unless it is to raise."""
    if mode not in MODES:
        listed = ", ".join(f'"{one}"' for one in MODES)
        raise ValueError(f"when_unavailable is one of {listed}, not {mode!r}")
    if mode == "raise":
        return ledger
    return Fallback(ledger, store.watch, store.beat, mode, store.awaited)


def way(server: Any) -> Route:
    """The way to a server by URL or by a client; one that is known already stays as it is."""
    if isinstance(server, Route):
        return server
    return route(server) if isinstance(server, str) else adopted(server)


def within(budget: Any) -> float:
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < 3600:
        raise ValueError(f"budget is a number of seconds above 0, not {budget!r}")
    return float(budget)


def whole(lines: Any) -> int:
    if isinstance(lines, bool) or not isinstance(lines, int) or lines < 1:
        raise ValueError(f"lines is a whole number of connections from 1 on, not {lines!r}")
    return lines


def given(clock: Clock | None) -> bool:
    """Whether the limiter's clock says the time, rather than the server's."""
    return clock is not None and not isinstance(clock, SystemClock)


def shown(way: Route) -> str:
    """The way as a URL without its secrets."""
    scheme = way.scheme if way.kind == "single" else f"{way.scheme}+{way.kind}"
    return f"{scheme}://{','.join(map(str, way.seeds))}{'/' + way.name if way.name else ''}"
